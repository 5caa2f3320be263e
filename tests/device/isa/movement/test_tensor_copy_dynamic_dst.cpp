#include "device/isa/movement/tensor_copy_dynamic_dst.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

struct DynamicTarget : InstructionTiles<TensorCopyDynamicDst> {
  DynamicTarget(std::vector<int64_t> dst, std::vector<int64_t> src, Dtype target = kFp32,
                Dtype source = kFp32, MemoryKind memory = kSbuf) {
    instruction.dst = bench.tile(memory, target, std::move(dst), "dst");
    instruction.src = bench.tile(kSbuf, source, std::move(src), "src");
    instruction.offset = bench.tile(kSbuf, Dtype::kInt32, {1, 1}, "offset", {0});
  }
  std::vector<double> run(double offset) {
    bench.set(instruction.offset, {offset});
    bench.run(instruction);
    return bench.get(instruction.dst);
  }
};

TEST(TensorCopyDynamicDst, WritesTheSliceThatTheOffsetNamesAndKeepsTheRest) {
  for (const Dtype dtype : all_dtypes()) {
    for (const int64_t size : {1, 3, 10}) {
      DynamicTarget copy({2, 10}, {2, size}, dtype, dtype);
      const std::vector<double> before = fill_random(copy.bench, copy.instruction.dst, 3, 0, 9);
      const std::vector<double> src = fill_random(copy.bench, copy.instruction.src, 4, 0, 9);
      for (int64_t offset = 0; offset + size <= 10; ++offset) {
        std::vector<double> expected = before;
        for (const int64_t p : {0, 1}) {
          for (int64_t i = 0; i < size; ++i) {
            expected[static_cast<size_t>(10 * p + offset + i)] =
                src[static_cast<size_t>(size * p + i)];
          }
        }
        copy.bench.set(copy.instruction.dst, before);
        expect_values(copy.run(static_cast<double>(offset)), expected);
      }
    }
  }
}

TEST(TensorCopyDynamicDst, SlicesTheFirstFreeDimensionOfAnyPatternAndCasts) {
  InstructionBench bench;
  const View wide = bench.tile(kPsum, kBf16, {128, 7, 6}, "wide");
  const View dst = wide.slice(0, 96, 4).slice(2, 1, 3, 2);  // [4, 7, 3]
  bench.set(wide, random_values(128 * 42, -9, 9));
  const View src = bench.tile(kSbuf, kFp32, {4, 2, 3}, "src", random_values(24, -9, 9, 2));
  const View offset = bench.tile(kSbuf, Dtype::kUint32, {1, 1}, "offset", {5});
  std::vector<double> expected = bench.get(dst);
  const std::vector<double> values = bench.get(src);
  for (size_t p = 0; p < 4; ++p) {
    for (size_t i = 0; i < 6; ++i) {
      expected[p * 21 + 15 + i] = stored(kBf16, values[p * 6 + i]);
    }
  }
  bench.run(TensorCopyDynamicDst{.dst = dst, .src = src, .offset = offset});
  expect_values(bench.get(dst), expected);
}

TEST(TensorCopyDynamicDst, AnOffsetOutsideTheRegionIsAnErrorAndChangesNothing) {
  DynamicTarget copy({1, 5}, {1, 2});
  copy.bench.set(copy.instruction.dst, {1, 2, 3, 4, 5});
  copy.bench.set(copy.instruction.src, {8, 9});
  const auto error = [&](double offset) {
    try {
      copy.run(offset);
    } catch (const KernelError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIndex);
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string head = "Out-of-bound access for tensor `dst` on dimension 1: index range ";
  EXPECT_EQ(error(4), head + "[4, 5] exceed dimension size of 5");
  EXPECT_EQ(error(-1), head + "[-1, 0] exceed dimension size of 5");
  expect_values(copy.bench.get(copy.instruction.dst), {1, 2, 3, 4, 5});
  EXPECT_EQ(error(3), "");
  expect_values(copy.bench.get(copy.instruction.dst), {1, 2, 3, 8, 9});
}

TEST(TensorCopyDynamicDst, ChecksShapesAndOffset) {
  EXPECT_EQ(DynamicTarget({2, 4}, {2, 4}).error(), "");
  EXPECT_EQ(DynamicTarget({2, 4}, {2, 5}).error(),
            "operand 'src' of 'tensor_copy_dynamic_dst' (src[2, 5]) must be a slice of operand "
            "'dst' (dst[2, 4]) in its first free dimension.");
  EXPECT_EQ(DynamicTarget({129, 4}, {129, 4}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'tensor_copy_dynamic_dst', operand 'dst', architecture trn2)");
  DynamicTarget copy({2, 4}, {2, 2});
  copy.instruction.offset = View();
  EXPECT_EQ(copy.error(),
            "Expected operand 'offset' of 'tensor_copy_dynamic_dst' to be in address space "
            "'sbuf', but it is missing.");
}

TEST(TensorCopyDynamicDst, DemandsTheElementsItCopiesAtADynamicAddress) {
  DynamicTarget copy({2, 100}, {2, 7}, kBf16, kBf16, kPsum);
  EXPECT_EQ(copy.step().rate, RateClass::kOneInput);
  EXPECT_EQ(copy.step().elements, 7);
  EXPECT_TRUE(copy.step().dynamic_address);
  EXPECT_FALSE(copy.step().source_psum);
}

}  // namespace
}  // namespace neuron_sim
