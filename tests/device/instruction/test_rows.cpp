#include "device/instruction/rows.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr auto kSbuf = MemoryKind::kSbuf;
constexpr auto kF32 = Dtype::kFloat32;

TEST(Rows, ContiguousFp32IsReadAndWrittenInPlace) {
  InstructionBench bench;
  Access access = bench.resolve(bench.tile(kSbuf, kF32, {2, 2, 4}, "x"));
  std::vector<float> buffer;
  EXPECT_EQ(reinterpret_cast<const std::byte*>(read_row(access, 1, buffer)), access.partition(1));
  EXPECT_EQ(reinterpret_cast<std::byte*>(row_target(access, 1, buffer)), access.partition(1));
  EXPECT_TRUE(buffer.empty());
}

TEST(Rows, DimensionsOfSizeOneDoNotMakeARowStrided) {
  InstructionBench bench;
  View view = bench.tile(kSbuf, kF32, {2, 8}, "x").expand(2).expand(1);
  Access access = bench.resolve(view);
  std::vector<float> buffer;
  EXPECT_EQ(reinterpret_cast<const std::byte*>(read_row(access, 0, buffer)), access.partition(0));
}

TEST(Rows, OtherPatternsAndDtypesGoThroughTheBuffer) {
  InstructionBench bench;
  std::vector<float> buffer;
  for (View view : {pattern_view(bench, Pattern::kEveryOther, kF32, "x"),
                    pattern_view(bench, Pattern::kBroadcast, kF32, "y"),
                    pattern_view(bench, Pattern::kDense, Dtype::kTfloat32, "z"),
                    pattern_view(bench, Pattern::kDense, Dtype::kBfloat16, "w")}) {
    Access access = bench.resolve(view);
    const float* row = read_row(access, 0, buffer);
    EXPECT_EQ(row, buffer.data());
    const float* target = row_target(access, 0, buffer);
    EXPECT_EQ(target, buffer.data());
  }
}

TEST(Rows, EveryPatternAndDtypeReadsRowMajorAndWritesOnlyItsElements) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern pattern : source_patterns()) {
      InstructionBench bench;
      View view = pattern_view(bench, pattern, dtype, "x");
      bench.set(view, random_values(kPatternValues, 0, 100));
      std::vector<double> expected = bench.get(view);
      Access access = bench.resolve(view);
      std::vector<float> buffer;
      for (int64_t p = 0; p < kPatternPartitions; ++p) {
        const float* row = read_row(access, p, buffer);
        const double* want = expected.data() + p * kPatternElements;
        expect_values({row, row + kPatternElements}, {want, want + kPatternElements});
      }
      if (pattern == Pattern::kBroadcast) continue;
      std::vector<float> ones(kPatternElements, 1.0F);
      for (int64_t p = 0; p < kPatternPartitions; ++p) write_row(access, p, ones.data());
      expect_values(bench.get(view), std::vector<double>(kPatternValues, 1.0));
    }
  }
}

TEST(Rows, ReadersAndWritersOfAllRowsDoWhatIsDoneRowByRow) {
  for (Dtype dtype : all_dtypes()) {
    for (Pattern pattern : source_patterns()) {
      InstructionBench bench;
      View view = pattern_view(bench, pattern, dtype, "x");
      bench.set(view, random_values(kPatternValues, 0, 100));
      Access access = bench.resolve(view);
      std::vector<float> buffer, expected;
      {
        const RowReader read(access, buffer);
        for (int64_t p = 0; p < kPatternPartitions; ++p) {
          const float* row = read(p);
          const float* want = read_row(access, p, expected);
          EXPECT_EQ(std::vector<float>(row, row + kPatternElements),
                    std::vector<float>(want, want + kPatternElements));
        }
      }
      if (pattern == Pattern::kBroadcast) continue;
      const RowWriter writer(access, buffer);
      for (int64_t p = 0; p < kPatternPartitions; ++p) {
        float* target = writer.target(p);
        std::fill_n(target, kPatternElements, 1.0F);
        writer.write(p, target);
      }
      expect_values(bench.get(view), std::vector<double>(kPatternValues, 1.0));
    }
  }
}

TEST(Rows, IntegersAreReadAndWrittenExactly) {
  for (Pattern pattern : target_patterns()) {
    InstructionBench bench;
    Access source = bench.resolve(pattern_view(bench, pattern, Dtype::kUint32, "x"));
    std::vector<int64_t> values(kPatternElements), buffer;
    for (size_t i = 0; i < values.size(); ++i) values[i] = 4294967295 - static_cast<int64_t>(i);
    write_integer_row(source, 2, values.data());
    const int64_t* row = read_integer_row(source, 2, buffer);
    EXPECT_EQ(std::vector<int64_t>(row, row + kPatternElements), values);
  }
}

TEST(Rows, CopyRowWorksBetweenEveryTwoPatternsOfEqualElementSize) {
  for (Pattern source : source_patterns()) {
    for (Pattern target : target_patterns()) {
      InstructionBench bench;
      View from = pattern_view(bench, source, Dtype::kUint16, "from");
      View to = pattern_view(bench, target, Dtype::kBfloat16, "to");
      bench.set(from, random_values(kPatternValues, 0, 65535));
      for (int64_t p = 0; p < kPatternPartitions; ++p) {
        copy_row(bench.resolve(from), p, bench.resolve(to), p);
      }
      EXPECT_EQ(bench.bits(to), bench.bits(from));
    }
  }
}

TEST(Rows, AllRowsAreCastLikeSingleOnes) {
  for (Pattern source : source_patterns()) {
    for (Pattern target : target_patterns()) {
      for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16}) {
        InstructionBench bench;
        View from = pattern_view(bench, source, Dtype::kFloat32, "from");
        View single = pattern_view(bench, target, dtype, "single");
        View all = pattern_view(bench, target, dtype, "all");
        bench.set(from, random_values(kPatternValues, 0, 100));
        for (int64_t p = 0; p < kPatternPartitions; ++p) {
          cast_row(bench.resolve(from), p, bench.resolve(single), p, true);
        }
        cast_rows(bench.resolve(from), bench.resolve(all), true);
        EXPECT_EQ(bench.bits(all), bench.bits(single));
      }
    }
  }
}

TEST(Rows, CopyRowRefusesDifferentSizes) {
  InstructionBench bench;
  Access bytes = bench.resolve(bench.tile(kSbuf, Dtype::kInt8, {1, 4}, "a"));
  Access words = bench.resolve(bench.tile(kSbuf, Dtype::kInt32, {1, 4}, "b"));
  Access longer = bench.resolve(bench.tile(kSbuf, Dtype::kInt32, {1, 5}, "c"));
  EXPECT_THROW(copy_row(bytes, 0, words, 0), SimulatorBug);
  EXPECT_THROW(copy_row(words, 0, longer, 0), SimulatorBug);
}

TEST(Rows, EmptyRowsTouchNothing) {
  InstructionBench bench;
  View view = bench.tile(kSbuf, Dtype::kBfloat16, {1, 4}, "x", {1, 2, 3, 4});
  Access access = bench.resolve(view.slice(1, 2, 0));
  std::vector<float> buffer;
  EXPECT_EQ(access.elements(), 0);
  read_row(access, 0, buffer);
  write_row(access, 0, buffer.data());
  copy_row(access, 0, access, 0);
  expect_values(bench.get(view), {1, 2, 3, 4});
}

TEST(Rows, AScalarIsTheFirstElementAsFp32) {
  InstructionBench bench;
  View view = bench.tile(kSbuf, Dtype::kFloat16, {2, 1}, "x", {0.5, -3});
  EXPECT_EQ(read_scalar(bench.resolve(view), 0), 0.5F);
  EXPECT_EQ(read_scalar(bench.resolve(view), 1), -3.0F);
}

TEST(Rows, RowsOfAnIndirectAccessFollowItsIndex) {
  InstructionBench bench;
  Access access =
      bench.resolve(bench.tile(MemoryKind::kHbm, kF32, {3, 2}, "x", {1, 2, 3, 4, 5, 6}));
  const int32_t rows[] = {2, 0};
  access.rows = rows;
  std::vector<float> buffer;
  EXPECT_EQ(read_row(access, 0, buffer)[0], 5.0F);
  EXPECT_EQ(read_row(access, 1, buffer)[1], 2.0F);
}

TEST(Rows, AnElementRepeatedIsARowThatRepeats) {
  InstructionBench bench;
  const View column = bench.tile(kSbuf, kF32, {4, 1}, "column", {1, 2, 3, 4});
  std::vector<float> buffer;
  const Access repeated = bench.resolve(column.broadcast(1, 3));
  const Access single = bench.resolve(column);
  const RowReader rows(repeated, buffer);
  EXPECT_TRUE(rows.repeats());
  EXPECT_EQ(read_scalar(repeated, 2), 3.0F);
  EXPECT_EQ(rows(2)[2], 3.0F);
  EXPECT_FALSE(RowReader(single, buffer).repeats());
}

TEST(Rows, ReadsComeFirstUnlessAWriteReachesALaterOne) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kF32, {96, 8}, "x");
  const auto precede = [&](const View& read, const View& written, int64_t partitions) {
    return reads_may_precede_writes(bench.resolve(read), bench.resolve(written), partitions);
  };
  const View low = tile.slice(0, 0, 64), high = tile.slice(0, 32, 64);
  EXPECT_TRUE(precede(low, low, 64));
  EXPECT_TRUE(precede(low.slice(1, 0, 4), low.slice(1, 2, 6), 64));
  EXPECT_TRUE(precede(low, high, 32));
  EXPECT_FALSE(precede(low, high, 33));  // partition 32 is written as the first one
  EXPECT_TRUE(precede(high, low, 64));   // what is written was read before
  EXPECT_TRUE(precede(low, high, 1));
}

}  // namespace
}  // namespace neuron_sim
