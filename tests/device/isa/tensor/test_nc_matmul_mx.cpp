#include "device/isa/tensor/nc_matmul_mx.h"

#include <gtest/gtest.h>

#include "device/builder/builder.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/quantize_mx.h"
#include "tests/device/execute/run_program.h"
#include "tests/device/isa/mx_tiles.h"
#include "tests/device/isa/product_oracle.h"

namespace neuron_sim {
namespace {
constexpr Dtype kE5m2 = Dtype::kFloat8E5m2X4;
constexpr Dtype kE4m3fn = Dtype::kFloat8E4m3fnX4;
constexpr Dtype kFp4 = Dtype::kFloat4E2m1fnX4;

/// Random finite elements.
void fill(InstructionBench& bench, const View& view, uint32_t seed) {
  std::vector<uint32_t> bits;
  for (int64_t i = 0; i < view.partitions() * view.free_elements(); ++i) {
    // Bit 6 of each byte off keeps fp8 exponents low; fp4 is always finite.
    bits.push_back((static_cast<uint32_t>(i) + seed) * 2654435761U & 0xbfbfbfbfU);
  }
  bench.set_bits(view, bits);
}

void fill_scales(InstructionBench& bench, const View& view, uint32_t seed) {
  std::vector<uint32_t> bits;
  for (int64_t i = 0; i < view.partitions() * view.free_elements(); ++i) {
    bits.push_back(120 + (static_cast<uint32_t>(i) * 7 + seed) % 15);
  }
  bench.set_bits(view, bits);
}

NcMatmulMx make(InstructionBench& bench, int64_t depth, int64_t columns, int64_t elements,
                Dtype stationary = kE4m3fn, Dtype moving = kE5m2, Dtype dst = kFp32,
                Dtype scale = Dtype::kUint8) {
  NcMatmulMx matmul;
  matmul.dst = bench.tile(kPsum, dst, {columns, elements}, "dst");
  matmul.stationary = bench.tile(kSbuf, stationary, {depth, columns}, "stationary");
  matmul.moving = bench.tile(kSbuf, moving, {depth, elements}, "moving");
  matmul.stationary_scale = bench.tile(kSbuf, scale, {depth, columns}, "scale_s");
  matmul.moving_scale = bench.tile(kSbuf, Dtype::kUint8, {depth, elements}, "scale_m");
  fill(bench, matmul.stationary, 3);
  fill(bench, matmul.moving, 77);
  fill_scales(bench, matmul.stationary_scale, 1);
  fill_scales(bench, matmul.moving_scale, 5);
  return matmul;
}

/// Values times scales, [K][columns][4].
std::vector<double> scaled(InstructionBench& bench, const View& data, const View& scale) {
  std::vector<double> values = packed_values(bench, data);
  const std::vector<uint32_t> scales = bench.bits(scale);
  const auto columns = static_cast<size_t>(data.free_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t k = i / 4 / columns, n = i / 4 % columns;
    const uint32_t bits = scales[(k / 32 * 32 + k % 32 / 8) * columns + n];
    values[i] *= bits == 255 ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127);
  }
  return values;
}

/// Checks that dst holds the bytes of before + the product by definition: the four values of a
/// partition follow each other.
void expect_product(InstructionBench& bench, const NcMatmulMx& matmul,
                    const std::vector<double>& before = {}) {
  const std::vector<double> a = scaled(bench, matmul.stationary, matmul.stationary_scale);
  const std::vector<double> b = scaled(bench, matmul.moving, matmul.moving_scale);
  const auto depth = static_cast<size_t>(matmul.stationary.partitions()) * 4;
  const auto columns = static_cast<size_t>(matmul.stationary.free_elements());
  const auto elements = static_cast<size_t>(matmul.moving.free_elements());
  std::vector<double> expected, left(depth), right(depth);
  for (size_t m = 0; m < columns; ++m) {
    for (size_t n = 0; n < elements; ++n) {
      for (size_t k = 0; k < depth; ++k) {
        left[k] = a[(k / 4 * columns + m) * 4 + k % 4];
        right[k] = b[(k / 4 * elements + n) * 4 + k % 4];
      }
      const double* old = before.empty() ? nullptr : &before[m * elements + n];
      expected.push_back(product_element(left, right, old, true, matmul.dst.dtype()));
    }
  }
  expect_values(bench.get(matmul.dst), expected);
}

TEST(NcMatmulMx, MultipliesScaledValuesOfEveryPairOfDtypes) {
  for (const Dtype stationary : {kE5m2, kE4m3fn, kFp4}) {
    for (const Dtype moving : {kE5m2, kE4m3fn, kFp4}) {
      for (const auto& [depth, columns, elements] :
           std::vector<std::tuple<int64_t, int64_t, int64_t>>{
               {32, 2, 1}, {64, 6, 33}, {128, 20, 65}}) {
        InstructionBench bench(mx_architecture());
        NcMatmulMx matmul = make(bench, depth, columns, elements, stationary, moving, kFp32,
                                 depth == 64 ? Dtype::kUint8 : Dtype::kFloat8E8m0fnu);
        bench.run(matmul);
        expect_product(bench, matmul);
        const std::vector<double> once = bench.get(matmul.dst);
        matmul.accumulate = true;
        bench.run(matmul);
        expect_product(bench, matmul, once);
      }
    }
  }
}

TEST(NcMatmulMx, TakesTheLargestTilesBfloat16AndAccessPatterns) {
  InstructionBench bench(mx_architecture());
  NcMatmulMx matmul = make(bench, 128, 128, 512);
  bench.run(matmul);
  expect_product(bench, matmul);
  matmul = make(bench, 32, 4, 1024, kE4m3fn, kE4m3fn, kBf16);
  bench.run(matmul);
  expect_product(bench, matmul);
  matmul = make(bench, 64, 4, 24);
  const View wide = bench.tile(kSbuf, kE5m2, {64, 5, 12}, "wide");
  fill(bench, wide, 9);
  matmul.moving = wide.slice(1, 1, 4).slice(2, 0, 6, 2);
  matmul.moving_scale = bench.tile(kSbuf, Dtype::kUint8, {128, 24}, "scales").slice(0, 4, 36);
  fill_scales(bench, matmul.moving_scale, 2);
  bench.run(matmul);
  expect_product(bench, matmul);
}

TEST(NcMatmulMx, SpreadsTheScaleNanOverItsColumn) {
  InstructionBench bench(mx_architecture());
  const NcMatmulMx matmul = make(bench, 32, 2, 3);
  std::vector<uint32_t> scales = bench.bits(matmul.moving_scale);
  scales[1 * 3 + 2] = 255;  // partitions 8..15 of column 2
  bench.set_bits(matmul.moving_scale, scales);
  bench.run(matmul);
  const std::vector<double> result = bench.get(matmul.dst);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(result[i]), i % 3 == 2);
}

TEST(NcMatmulMx, DemandsTheTimeOfOneRowPerPartition) {
  InstructionBench bench(mx_architecture());
  NcMatmulMx matmul = make(bench, 32, 100, 300);
  matmul.tile_position = {96, 0};
  matmul.tile_size = {32, 128};
  const Demand demand = bench.demand(matmul);
  ASSERT_EQ(demand.count, 2);
  EXPECT_EQ(demand.steps[0].elements, 100);
  EXPECT_EQ(demand.steps[1].elements, 300);
  EXPECT_EQ(demand.steps[1].matmul, MatmulClass::k16bit);
  EXPECT_EQ(demand.steps[1].array.row, 96);
  EXPECT_EQ(demand.multiply_accumulates, 4 * 32 * 100 * 300);
}

TEST(NcMatmulMxChecks, ReportsWrongOperands) {
  InstructionBench bench(mx_architecture());
  const auto error = [&](const NcMatmulMx& matmul) { return bench.error(matmul); };
  EXPECT_EQ(error(make(bench, 128, 128, 512)), "");
  EXPECT_EQ(error(make(bench, 128, 130, 512)),
            "size of dimension 1 in 'stationary[128, 130]' of 'nc_matmul_mx' exceed architecture "
            "limitation of 128. (architecture trn3)");
  EXPECT_EQ(error(make(bench, 128, 127, 512)),
            "operand 'stationary' of 'nc_matmul_mx' is stationary[128, 127], but must have an even "
            "number of elements per partition.");
  EXPECT_EQ(error(make(bench, 128, 128, 513)),
            "size of dimension 1 in 'moving[128, 513]' of 'nc_matmul_mx' exceed architecture "
            "limitation of 512. (architecture trn3)");
  EXPECT_EQ(error(make(bench, 32, 2, 1025, kFp4, kFp4, kBf16)),
            "size of dimension 1 in 'moving[32, 1025]' of 'nc_matmul_mx' exceed architecture "
            "limitation of 1024. (architecture trn3)");
  EXPECT_EQ(error(make(bench, 48, 8, 8)),
            "number of partitions 48 of operand 'stationary' of 'nc_matmul_mx' must be a multiple "
            "of 32.");
  EXPECT_EQ(error(make(bench, 32, 8, 8, Dtype::kFloat8E5m2)),
            "dtype float8_e5m2 of operand 'stationary' of 'nc_matmul_mx' is not supported; "
            "expected float8_e5m2_x4, float8_e4m3fn_x4 or float4_e2m1fn_x4.");
  EXPECT_EQ(error(make(bench, 32, 8, 8, kFp4, kFp4, Dtype::kFloat16)),
            "dtype float16 of operand 'dst' of 'nc_matmul_mx' is not supported; expected float32 "
            "or bfloat16.");
  NcMatmulMx matmul = make(bench, 32, 8, 8);
  matmul.moving_scale = matmul.moving_scale.slice(0, 0, 3);
  EXPECT_EQ(error(matmul),
            "operand 'moving_scale' of 'nc_matmul_mx' is scale_m[3, 8], but the scales of the 32 "
            "partitions of 'moving' take 4 to 32 partitions, 4 rows at the start of every 32.");
  matmul = make(bench, 64, 8, 8);
  matmul.tile_position = {64, 0};
  matmul.tile_size = {64, 128};
  EXPECT_EQ(error(matmul), "");
  matmul.tile_size = {32, 128};
  EXPECT_EQ(error(matmul),
            "size of dimension 0 in 'stationary[64, 8]' of 'nc_matmul_mx' exceed architecture "
            "limitation of 32. (architecture trn3)");
  matmul.tile_size = {64, 64};
  EXPECT_EQ(error(matmul),
            "parameter 'tile_size' is (64, 64), but its columns must be 128. (instruction "
            "'nc_matmul_mx', architecture trn3)");
  InstructionBench old;
  EXPECT_EQ(old.error(make(old, 32, 8, 8)),
            "instruction 'nc_matmul_mx' needs NeuronCore-v4 or newer; architecture trn2 is a "
            "NeuronCore-v3.");
}

/// out = quantised(x).T @ quantised(y), accumulated over two tiles with accumulate=None.
TEST(NcMatmulMxProgram, MultipliesWhatQuantizeMxMade) {
  Builder builder("mx", load_architecture("trn3"));
  const View x = builder.argument("x", {2, 64, 32}, kBf16);
  const View y = builder.argument("y", {2, 64, 80}, kBf16);
  const View out = builder.argument("out", {8, 20}, kFp32), sum = builder.psum("sum", {8, 20});
  for (int64_t tile = 0; tile < 2; ++tile) {
    NcMatmulMx matmul{.dst = sum,
                      .stationary = {},
                      .moving = {},
                      .stationary_scale = {},
                      .moving_scale = {},
                      .accumulate = std::nullopt};
    const auto quantised = [&](const View& from, View& data, View& scale) {
      const int64_t columns = from.size(2) / 4;
      const View source = builder.sbuf("source", {64, 4 * columns}, kBf16);
      data = builder.sbuf("data", {64, columns}, kE4m3fn);
      scale = builder.sbuf("scale", {36, columns}, Dtype::kFloat8E8m0fnu);
      builder.emit(DmaCopy{.dst = source, .src = from.select(0, tile)});
      builder.emit(QuantizeMx{.dst = data, .src = source, .dst_scale = scale});
    };
    quantised(x, matmul.stationary, matmul.stationary_scale);
    quantised(y, matmul.moving, matmul.moving_scale);
    builder.emit(matmul);
  }
  const View result = builder.sbuf("result", {8, 20}, kFp32);
  builder.emit(TensorCopy{result, sum});
  builder.emit(DmaCopy{.dst = out, .src = result});
  ProgramRun run(builder.finish());
  run.randomise(11);
  ThreadPool pool(2);
  run.execute(make_plan(run.program()), pool);
  const auto value = [&](size_t argument, int64_t at) {
    return static_cast<double>(
        std::bit_cast<float>(static_cast<uint32_t>(run.data<uint16_t>(argument)[at]) << 16));
  };
  for (int64_t m = 0; m < 8; ++m) {
    for (int64_t n = 0; n < 20; ++n) {
      double sum_of_products = 0, size = 0;
      for (int64_t k = 0; k < 128; ++k) {
        for (int64_t j = 0; j < 4; ++j) {
          const double term = value(0, (k * 8 + m) * 4 + j) * value(1, (k * 20 + n) * 4 + j);
          sum_of_products += term;
          size += std::abs(term);
        }
      }
      // e4m3fn rounds to 1 part in 16; values far below the largest of their group lose more.
      EXPECT_NEAR(run.data<float>(2)[m * 20 + n], sum_of_products, size / 12);
    }
  }
}

}  // namespace
}  // namespace neuron_sim
