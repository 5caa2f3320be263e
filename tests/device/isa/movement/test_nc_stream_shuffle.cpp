#include "device/isa/movement/nc_stream_shuffle.h"

#include <numeric>

#include "device/builder/builder.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

using Mask = std::array<int64_t, 32>;

Mask identity_mask() {
  Mask mask{};
  std::iota(mask.begin(), mask.end(), 0);
  return mask;
}

/// A fixed permutation of 32 numbers with two repetitions and two gaps.
Mask mixed_mask() {
  Mask mask{};
  for (int64_t i = 0; i < 32; ++i) mask[static_cast<size_t>(i)] = (i * 13 + 5) % 32;
  mask[3] = mask[4];
  mask[17] = 0;
  mask[9] = mask[30] = 255;
  return mask;
}

struct Shuffle : InstructionTiles<NcStreamShuffle> {
  Shuffle(std::vector<int64_t> src, std::vector<int64_t> dst, Dtype dtype = kFp32,
          MemoryKind memory = kSbuf) {
    instruction.src = bench.tile(memory, dtype, std::move(src), "src");
    instruction.dst = bench.tile(kSbuf, dtype, std::move(dst), "dst");
    instruction.shuffle_mask = identity_mask();
  }
  void run() { bench.run(instruction); }
};

/// Row-major bits after the shuffle of `rows` rows.
std::vector<uint32_t> oracle_shuffle(const std::vector<uint32_t>& src, std::vector<uint32_t> dst,
                                     const Mask& mask, size_t rows) {
  const size_t row = dst.size() / rows;
  for (size_t p = 0; p < rows; ++p) {
    const int64_t element = mask[p % 32];
    if (element == 255) continue;
    const size_t from = p / 32 * 32 + static_cast<size_t>(element);
    for (size_t i = 0; i < row; ++i) dst[p * row + i] = src[from * row + i];
  }
  return dst;
}

TEST(NcStreamShuffle, MovesTheBitsOfEveryDtypeWithinEachQuadrant) {
  for (const Dtype dtype : all_dtypes()) {
    for (const int64_t partitions : {32, 64, 96, 128}) {
      SCOPED_TRACE(text(name(dtype), " ", partitions));
      Shuffle shuffle({partitions, 5}, {partitions, 5}, dtype, kPsum);
      shuffle.instruction.shuffle_mask = mixed_mask();
      std::vector<uint32_t> bits;
      for (int64_t i = 0; i < partitions * 5; ++i) {
        bits.push_back(static_cast<uint32_t>(i) * 2654435761U);
      }
      shuffle.bench.set_bits(shuffle.instruction.src, bits);
      const auto src = shuffle.bench.bits(shuffle.instruction.src);
      const auto dst = shuffle.bench.bits(shuffle.instruction.dst);
      shuffle.run();
      EXPECT_EQ(shuffle.bench.bits(shuffle.instruction.dst),
                oracle_shuffle(src, dst, mixed_mask(), static_cast<size_t>(partitions)));
    }
  }
}

TEST(NcStreamShuffle, WorksInPlaceAndBetweenQuadrantsWithStrides) {
  InstructionBench bench;
  const View tile = bench.tile(kSbuf, kFp32, {128, 3, 4}, "tile", random_values(128 * 12));
  const View src = tile.slice(0, 96, 32).slice(2, 1, 2, 2);
  const View dst = tile.slice(0, 32, 32).permute({0, 2, 1}).slice(1, 0, 2);
  const auto before = bench.bits(dst);
  const auto values = bench.bits(src);
  NcStreamShuffle instruction{.dst = dst, .src = src, .shuffle_mask = mixed_mask()};
  bench.run(instruction);
  EXPECT_EQ(bench.bits(dst), oracle_shuffle(values, before, mixed_mask(), 32));
  const View whole = bench.tile(kSbuf, kBf16, {64, 7}, "w", random_values(64 * 7));
  const auto old = bench.bits(whole);
  instruction = {.dst = whole, .src = whole, .shuffle_mask = mixed_mask()};
  bench.run(instruction);
  EXPECT_EQ(bench.bits(whole), oracle_shuffle(old, old, mixed_mask(), 64));
}

TEST(NcStreamShuffle, BroadcastsOnePartitionToAll) {
  Shuffle shuffle({1, 3}, {32, 3});
  shuffle.instruction.shuffle_mask = {};
  shuffle.bench.set(shuffle.instruction.src, {1, NAN, 3});
  shuffle.run();
  const std::vector<double> result = shuffle.bench.get(shuffle.instruction.dst);
  for (size_t p = 0; p < 32; ++p) {
    EXPECT_EQ(result[3 * p], 1);
    EXPECT_TRUE(std::isnan(result[3 * p + 1]));
    EXPECT_EQ(result[3 * p + 2], 3);
  }
}

TEST(NcStreamShuffle, ReadsItsDestinationOnlyWherePartitionsStay) {
  const auto reads = [](int64_t partitions, const Mask& mask) {
    Builder builder("shuffle", load_architecture("trn2"));
    const View src = builder.sbuf("src", {32, 2}, kFp32);
    const View dst = builder.sbuf("dst", {partitions, 2}, kFp32);
    builder.emit(NcStreamShuffle{.dst = dst, .src = src, .shuffle_mask = mask});
    const auto program = builder.finish();
    return program->operands_of(program->instructions[0])[0].reads();
  };
  Mask mask = identity_mask();
  EXPECT_FALSE(reads(32, mask));
  mask[20] = 255;
  EXPECT_TRUE(reads(32, mask));
  EXPECT_FALSE(reads(20, mask)) << "the gap is after the destination";
  EXPECT_TRUE(reads(21, mask));
}

TEST(NcStreamShuffle, ChecksTheMask) {
  Shuffle shuffle({32, 2}, {32, 2});
  shuffle.instruction.shuffle_mask[7] = 255;
  EXPECT_EQ(shuffle.error(), "");
  for (const int64_t element : {-1, 32, 254, 256}) {
    shuffle.instruction.shuffle_mask[7] = element;
    EXPECT_EQ(shuffle.error(), text("shuffle_mask[7] of 'nc_stream_shuffle' is ", element,
                                    ", but must be 0 to 31, or 255 to leave the partition "
                                    "unchanged."));
  }
  Shuffle narrow({40, 2}, {64, 2});
  for (int64_t& element : narrow.instruction.shuffle_mask) element = 7;
  EXPECT_EQ(narrow.error(), "");
  narrow.instruction.shuffle_mask[1] = 8;
  EXPECT_EQ(narrow.error(),
            "shuffle_mask[1] of 'nc_stream_shuffle' takes partition 40 of operand 'src' (src[40, "
            "2]), which has 40.");
}

TEST(NcStreamShuffle, ChecksDtypesSizesAndStartPartitions) {
  EXPECT_EQ(Shuffle({128, 4096}, {128, 4096}, kFp32, kPsum).error(), "");
  EXPECT_EQ(Shuffle({32, 2}, {32, 3}).error(),
            "number of elements per partition mismatch in parameters (dst[32, 3], src[32, 2]) of "
            "'nc_stream_shuffle'");
  EXPECT_EQ(Shuffle({129, 1}, {129, 1}).error(),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'nc_stream_shuffle', operand 'src', architecture trn2)");
  Shuffle shuffle({32, 2}, {32, 2});
  shuffle.instruction.dst = shuffle.bench.tile(kSbuf, Dtype::kInt32, {32, 2}, "d");
  EXPECT_EQ(shuffle.error(),
            "dtype int32 of operand 'dst' of 'nc_stream_shuffle' is not supported; expected "
            "float32, the dtype of src.");
  const View tile = shuffle.bench.tile(kSbuf, kFp32, {128, 2}, "t");
  const auto error = [&](int64_t src_start, int64_t src, int64_t dst_start, int64_t dst) {
    shuffle.instruction.src = tile.slice(0, src_start, src);
    shuffle.instruction.dst = tile.slice(0, dst_start, dst);
    shuffle.instruction.shuffle_mask = {};
    return shuffle.error();
  };
  EXPECT_EQ(error(96, 32, 32, 20), "");
  EXPECT_EQ(error(64, 64, 0, 33), "");
  EXPECT_EQ(error(0, 64, 32, 32),
            "start partition 32 of operand 'dst' of 'nc_stream_shuffle' must be a multiple of 64 "
            "for 64 active partitions (architecture trn2).");
  EXPECT_EQ(error(0, 96, 0, 65), "");
  EXPECT_EQ(error(64, 64, 0, 96),
            "start partition 64 of operand 'src' of 'nc_stream_shuffle' must be a multiple of 128 "
            "for 96 active partitions (architecture trn2).");
}

TEST(NcStreamShuffle, DemandsOnePass) {
  Shuffle shuffle({32, 70}, {32, 70}, kBf16, kPsum);
  const Step step = shuffle.bench.demand(shuffle.instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kOneInput);
  EXPECT_EQ(step.elements, 70);
  EXPECT_TRUE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
