// Tiles of the array, hints, bf16 destinations and 1-byte transposes.

#include <gtest/gtest.h>

#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {
constexpr Dtype kE4m3 = Dtype::kFloat8E4m3;
constexpr Dtype kE5m2 = Dtype::kFloat8E5m2;
constexpr Dtype kE4m3fn = Dtype::kFloat8E4m3fn;

Architecture fourth_generation() {
  Architecture architecture = test_architecture();
  architecture.name = "trn3";
  architecture.limits.moving_free = 4096;
  architecture.features.bfloat16_psum = true;
  architecture.features.microscaling = true;
  return architecture;
}

NcMatmul plain(InstructionBench& bench, int64_t depth, int64_t columns, int64_t elements,
               Dtype dtype = kBf16, Dtype result = kFp32) {
  NcMatmul matmul;
  matmul.stationary = bench.tile(kSbuf, dtype, {depth, columns}, "stationary",
                                 random_values(depth * columns, -4, 4, 3));
  matmul.moving = bench.tile(kSbuf, dtype, {depth, elements}, "moving",
                             random_values(depth * elements, -4, 4, 4));
  matmul.dst = bench.tile(kPsum, result, {columns, elements}, "dst");
  return matmul;
}

TEST(NcMatmulModes, TilesOfTheArrayGiveTheSameBits) {
  InstructionBench bench;
  NcMatmul matmul = plain(bench, 32, 64, 100);
  bench.run(matmul);
  const std::vector<double> whole = bench.get(matmul.dst);
  matmul.tile_position = {96, 64};
  matmul.tile_size = {32, 64};
  bench.run(matmul);
  expect_values(bench.get(matmul.dst), whole);
  const ArrayTile tile = bench.demand(matmul).steps[1].array;
  EXPECT_EQ(tile.row, 96);
  EXPECT_EQ(tile.rows, 32);
  EXPECT_EQ(tile.column, 64);
  EXPECT_EQ(tile.columns, 64);
}

TEST(NcMatmulModes, ReportsTilesThatTheArrayDoesNotHave) {
  InstructionBench bench;
  const std::string where = " (instruction 'nc_matmul', architecture trn2)";
  const auto error = [&](std::optional<RowsColumns> position, std::optional<RowsColumns> size,
                         int64_t depth = 32, int64_t columns = 32) {
    NcMatmul matmul = plain(bench, depth, columns, 8);
    matmul.tile_position = position;
    matmul.tile_size = size;
    return bench.error(matmul);
  };
  EXPECT_EQ(error({{0, 0}}, {{32, 32}}), "");
  EXPECT_EQ(error({{64, 0}}, {{64, 128}}, 64, 128), "");
  EXPECT_EQ(error({{0, 0}}, {}),
            "parameters 'tile_position' and 'tile_size' must both be set." + where);
  EXPECT_EQ(error({}, {{32, 32}}),
            "parameters 'tile_position' and 'tile_size' must both be set." + where);
  EXPECT_EQ(error({{0, 0}}, {{16, 128}}, 16),
            "parameter 'tile_size' is (16, 128), but its rows must be 128 or a power of two from "
            "32." +
                where);
  EXPECT_EQ(error({{0, 0}}, {{96, 128}}),
            "parameter 'tile_size' is (96, 128), but its rows must be 128 or a power of two from "
            "32." +
                where);
  EXPECT_EQ(error({{0, 0}}, {{64, 256}}),
            "parameter 'tile_size' is (64, 256), but its columns must be 128 or a power of two "
            "from 32." +
                where);
  for (const RowsColumns& position : {RowsColumns{32, 0}, {128, 0}}) {
    EXPECT_EQ(error(position, {{64, 128}}),
              text("parameter 'tile_position' is (", position[0],
                   ", 0), but must be a multiple of 'tile_size' (64, 128) within the 128 x 128 "
                   "array.") +
                  where);
  }
  EXPECT_EQ(error({{0, 0}}, {{32, 128}}, 33),
            "size of dimension 0 in 'stationary[33, 32]' of 'nc_matmul' exceed architecture "
            "limitation of 32. (architecture trn2)");
  EXPECT_EQ(error({{0, 0}}, {{32, 64}}, 32, 65),
            "size of dimension 1 in 'stationary[32, 65]' of 'nc_matmul' exceed architecture "
            "limitation of 64. (architecture trn2)");
  bench.architecture().limits.array_tile = 64;  // generation 2
  EXPECT_EQ(error({{0, 0}}, {{64, 64}}), "");
  EXPECT_EQ(error({{0, 0}}, {{32, 64}}),
            "parameter 'tile_size' is (32, 64), but its rows must be 128 or a power of two from "
            "64." +
                where);
}

TEST(NcMatmulModes, HintsHalveThePassesOfFp32AndChangeNothingElse) {
  InstructionBench bench;
  const auto kind = [&](Dtype dtype, bool stationary, bool moving) {
    NcMatmul matmul = plain(bench, 8, 8, 8, dtype);
    matmul.is_stationary_onezero = stationary;
    matmul.is_moving_onezero = moving;
    return bench.demand(matmul).steps[1].matmul;
  };
  EXPECT_EQ(kind(kFp32, false, false), MatmulClass::kFp32);
  EXPECT_EQ(kind(kFp32, true, false), MatmulClass::kFp32OneZero);
  EXPECT_EQ(kind(kFp32, false, true), MatmulClass::kFp32OneZero);
  EXPECT_EQ(kind(kFp32, true, true), MatmulClass::kFp32OneZero);
  EXPECT_EQ(kind(kBf16, true, true), MatmulClass::k16bit);
  NcMatmul matmul = plain(bench, 30, 20, 10, kFp32);
  bench.run(matmul);
  const std::vector<double> without = bench.get(matmul.dst);
  matmul.is_moving_onezero = true;
  bench.run(matmul);
  expect_values(bench.get(matmul.dst), without);
}

TEST(NcMatmulModes, Bfloat16DestinationsRoundOnceAfterAnAdditionInFp32) {
  InstructionBench bench(fourth_generation());
  NcMatmul matmul = plain(bench, 128, 60, 300, kBf16, kFp32);
  bench.run(matmul);
  const std::vector<double> product = bench.get(matmul.dst);
  matmul.dst = bench.tile(kPsum, kBf16, {60, 300}, "narrow", std::vector<double>(18000, NAN));
  bench.run(matmul);
  std::vector<double> expected;
  for (const double value : product) expected.push_back(round_to(kBf16, value));
  expect_values(bench.get(matmul.dst), expected);
  matmul.accumulate = true;
  bench.run(matmul);
  for (size_t i = 0; i < product.size(); ++i) {
    expected[i] = round_to(kBf16, round_to(kFp32, expected[i] + product[i]));
  }
  expect_values(bench.get(matmul.dst), expected);
}

TEST(NcMatmulModes, FourthGenerationFillsAllBanks) {
  InstructionBench bench(fourth_generation());
  const auto error = [&](int64_t elements, Dtype result) {
    return bench.error(plain(bench, 2, 2, elements, kBf16, result));
  };
  EXPECT_EQ(error(4096, kFp32), "");
  EXPECT_EQ(error(4097, kFp32),
            "size of dimension 1 in 'moving[2, 4097]' of 'nc_matmul' exceed architecture "
            "limitation of 4096. (architecture trn3)");
  EXPECT_EQ(error(8192, kBf16), "");
  EXPECT_EQ(error(8193, kBf16),
            "size of dimension 1 in 'moving[2, 8193]' of 'nc_matmul' exceed architecture "
            "limitation of 8192. (architecture trn3)");
  EXPECT_EQ(error(8, Dtype::kFloat16),
            "dtype float16 of operand 'dst' of 'nc_matmul' is not supported; expected float32 or "
            "bfloat16.");
}

TEST(NcMatmulModes, OcpFp8NeedsTheFourthGenerationAndNoLegacyFp8) {
  InstructionBench bench(fourth_generation());
  NcMatmul matmul = plain(bench, 64, 16, 48, kE4m3fn);
  bench.run(matmul);
  const std::vector<double> a = bench.get(matmul.stationary), b = bench.get(matmul.moving);
  const std::vector<double> product = bench.get(matmul.dst);
  for (size_t m = 0; m < 16; ++m) {
    for (size_t n = 0; n < 48; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 64; ++k) sum += a[k * 16 + m] * b[k * 48 + n];
      ASSERT_NEAR(product[m * 48 + n], sum, 1e-3);
    }
  }
  matmul.moving = bench.tile(kSbuf, kE5m2, {64, 48}, "moving");
  EXPECT_EQ(bench.error(matmul), "");
  for (const bool swapped : {false, true}) {
    matmul.stationary = bench.tile(kSbuf, swapped ? kE4m3 : kE4m3fn, {64, 16}, "stationary");
    matmul.moving = bench.tile(kSbuf, swapped ? kE4m3fn : kE4m3, {64, 48}, "moving");
    EXPECT_EQ(bench.error(matmul),
              text("dtypes ", name(matmul.stationary.dtype()), " of operand 'stationary' and ",
                   name(matmul.moving.dtype()),
                   " of operand 'moving' of 'nc_matmul' cannot be "
                   "mixed; float8_e4m3 and float8_e4m3fn exclude each other."));
  }
  for (const Dtype dtype : {Dtype::kFloat8E8m0fnu, Dtype::kFloat8E4m3fnX4}) {
    matmul.stationary = bench.tile(kSbuf, dtype, {64, 16}, "stationary");
    EXPECT_EQ(bench.error(matmul),
              text("dtype ", name(dtype),
                   " of operand 'stationary' of 'nc_matmul' is not "
                   "supported; expected float8_e4m3, float8_e5m2, float8_e4m3fn, float16, "
                   "bfloat16, tfloat32 or float32."));
  }
  InstructionBench old;
  EXPECT_EQ(old.error(plain(old, 8, 8, 8, kE4m3fn)),
            "dtype float8_e4m3fn of operand 'stationary' of 'nc_matmul' is not supported; expected "
            "float8_e4m3, float8_e5m2, float16, bfloat16, tfloat32 or float32.");
}

TEST(NcMatmulModes, TransposesBytesIntoPaddedElements) {
  InstructionBench bench;
  NcMatmul matmul{.dst = {},
                  .stationary = bench.tile(kSbuf, kE4m3, {3, 5}, "stationary"),
                  .moving =
                      bench.tile(kSbuf, kE5m2, {3, 3}, "identity", {0, 1, 0, 0, 0, 1, 1, 0, 0}),
                  .is_transpose = true};
  std::vector<uint32_t> bytes;
  for (uint32_t i = 0; i < 15; ++i) bytes.push_back((i * 37 + 0x71) & 0xffu);  // NaN patterns too
  bench.set_bits(matmul.stationary, bytes);
  std::vector<uint32_t> expected;
  for (size_t m = 0; m < 5; ++m) {
    for (const size_t k : {2, 0, 1}) expected.push_back(bytes[k * 5 + m]);
  }
  for (const Dtype dtype : {kBf16, Dtype::kUint16, Dtype::kFloat16}) {
    matmul.dst = bench.tile(kPsum, dtype, {5, 3}, "dst");
    bench.run(matmul);
    EXPECT_EQ(bench.bits(matmul.dst), expected);
  }
  matmul.dst = bench.tile(kPsum, kE4m3, {5, 3, 2}, "pairs").select(2, 0);
  bench.run(matmul);
  EXPECT_EQ(bench.bits(matmul.dst), expected);
  matmul.dst = bench.tile(kPsum, kE4m3, {5, 3}, "dense");
  EXPECT_EQ(bench.error(matmul),
            "operand 'dst' of 'nc_matmul' is dense[5, 3] of float8_e4m3, but PSUM receives 16-bit "
            "elements with a zero upper byte; use a 2-byte dtype or every other byte.");
  matmul.dst = bench.tile(kPsum, kFp32, {5, 3}, "wide");
  EXPECT_EQ(bench.error(matmul),
            "dtype float32 of operand 'dst' of 'nc_matmul' is not supported; expected float8_e4m3, "
            "the dtype of 'stationary' in every other byte, or a 2-byte dtype, because "
            "is_transpose is set.");
}

}  // namespace
}  // namespace neuron_sim
