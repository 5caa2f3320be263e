// perf_mode double_row.

#include <gtest/gtest.h>

#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/isa/product_oracle.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {
constexpr Dtype kE4m3 = Dtype::kFloat8E4m3;
constexpr Dtype kE5m2 = Dtype::kFloat8E5m2;
constexpr auto kDoubleRow = MatmulPerformanceMode::kDoubleRow;

/// Row-major [rows, columns]; an element in double.
struct Matrix {
  std::vector<double> values;
  size_t columns;
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

/// dst holds the bytes of before + a.T @ b by definition.
void expect_product(const std::vector<double>& dst, const Matrix& a, const Matrix& b,
                    const std::vector<double>& before = {}, Dtype dtype = kFp32) {
  const size_t depth = a.values.size() / a.columns;
  ASSERT_EQ(b.values.size(), depth * b.columns);
  std::vector<double> expected, left(depth), right(depth);
  for (size_t m = 0; m < a.columns; ++m) {
    for (size_t k = 0; k < depth; ++k) left[k] = a.at(k, m);
    for (size_t n = 0; n < b.columns; ++n) {
      for (size_t k = 0; k < depth; ++k) right[k] = b.at(k, n);
      const double* old = before.empty() ? nullptr : &before[m * b.columns + n];
      expected.push_back(product_element(left, right, old, true, dtype));
    }
  }
  expect_values(dst, expected);
}

/// [K, 2, F] as 2 K rows.
Matrix halves(const std::vector<double>& values, int64_t depth, int64_t columns) {
  Matrix matrix{{}, static_cast<size_t>(columns)};
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t n = 0; n < columns; ++n)
        matrix.values.push_back(values[static_cast<size_t>((k * 2 + i) * columns + n)]);
  return matrix;
}

NcMatmul double_row(InstructionBench& bench, int64_t depth, int64_t columns, int64_t elements,
                    Dtype stationary = kE4m3, Dtype moving = kE5m2) {
  NcMatmul matmul;
  matmul.stationary = bench.tile(kSbuf, stationary, {depth, 2, columns}, "stationary",
                                 random_values(depth * 2 * columns, -4, 4, 1));
  matmul.moving = bench.tile(kSbuf, moving, {depth, 2, elements}, "moving",
                             random_values(depth * 2 * elements, -4, 4, 2));
  matmul.dst = bench.tile(kPsum, kFp32, {columns, elements}, "dst");
  matmul.perf_mode = kDoubleRow;
  return matmul;
}

TEST(NcMatmulDoubleRow, DoubleRowContractsBothHalves) {
  for (const auto& [depth, columns, elements] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {1, 1, 1}, {128, 128, 512}, {33, 7, 65}, {128, 1, 3}}) {
    for (const auto& [stationary, moving] :
         std::vector<std::pair<Dtype, Dtype>>{{kE4m3, kE4m3}, {kE5m2, kE4m3}, {kE5m2, kE5m2}}) {
      InstructionBench bench;
      NcMatmul matmul = double_row(bench, depth, columns, elements, stationary, moving);
      bench.run(matmul);
      const Matrix a = halves(bench.get(matmul.stationary), depth, columns);
      const Matrix b = halves(bench.get(matmul.moving), depth, elements);
      const std::vector<double> once = bench.get(matmul.dst);
      expect_product(once, a, b);
      matmul.accumulate = true;
      bench.run(matmul);
      expect_product(bench.get(matmul.dst), a, b, once);
    }
  }
}

TEST(NcMatmulDoubleRow, DoubleRowTakesAccessPatterns) {
  InstructionBench bench;
  NcMatmul matmul = double_row(bench, 64, 20, 24);
  const View wide = bench.tile(kSbuf, kE5m2, {64, 3, 8, 9}, "wide", random_values(64 * 216));
  matmul.moving = wide.slice(1, 0, 2, 2).slice(2, 1, 4, 2).slice(3, 2, 6);
  bench.run(matmul);
  expect_product(bench.get(matmul.dst), halves(bench.get(matmul.stationary), 64, 20),
                 halves(bench.get(matmul.moving), 64, 24));
}

TEST(NcMatmulDoubleRow, DoubleRowTakesTheTimeOfHalfItsContraction) {
  InstructionBench bench;
  const Demand demand = bench.demand(double_row(bench, 128, 100, 512));
  EXPECT_EQ(demand.steps[0].elements, 100);
  EXPECT_EQ(demand.steps[1].elements, 512);
  EXPECT_EQ(demand.steps[1].matmul, MatmulClass::k16bit);
  EXPECT_EQ(demand.multiply_accumulates, 2 * 128 * 100 * 512);
}

TEST(NcMatmulDoubleRow, ReportsWhatDoubleRowCannotDo) {
  InstructionBench bench;
  const auto error = [&](const NcMatmul& matmul) { return bench.error(matmul); };
  EXPECT_EQ(error(double_row(bench, 128, 128, 512)), "");
  EXPECT_EQ(error(double_row(bench, 128, 128, 513)),
            "number of elements per partition 1026 in 'moving[128, 2, 513]' of 'nc_matmul' exceed "
            "architecture limitation of 1024. (architecture trn2)");
  EXPECT_EQ(error(double_row(bench, 128, 129, 512)),
            "number of elements per partition 258 in 'stationary[128, 2, 129]' of 'nc_matmul' "
            "exceed architecture limitation of 256. (architecture trn2)");
  EXPECT_EQ(error(double_row(bench, 8, 8, 8, kBf16)),
            "dtype bfloat16 of operand 'stationary' of 'nc_matmul' is not supported; expected an "
            "fp8 dtype, because perf_mode is double_row.");
  NcMatmul matmul = double_row(bench, 8, 8, 8);
  matmul.moving = bench.tile(kSbuf, kE5m2, {8, 4, 4}, "moving");
  EXPECT_EQ(error(matmul),
            "operand 'moving' of 'nc_matmul' with perf_mode double_row is moving[8, 4, 4], but its "
            "first free dimension must be 2. (architecture trn2)");
  matmul = double_row(bench, 8, 8, 8);
  matmul.dst = bench.tile(kPsum, kFp32, {8, 9}, "dst");
  EXPECT_EQ(error(matmul),
            "operand 'dst' of 'nc_matmul' is dst[8, 9], but moving[8, 2, 8] with perf_mode "
            "double_row has 8 columns.");
  matmul = double_row(bench, 8, 8, 8);
  matmul.is_transpose = true;
  matmul.dst = bench.tile(kPsum, kBf16, {8, 8}, "dst");
  EXPECT_EQ(error(matmul),
            "'nc_matmul' with perf_mode double_row cannot transpose. (architecture trn2)");
  matmul = double_row(bench, 8, 8, 8);
  matmul.tile_position = {0, 0};
  matmul.tile_size = {32, 128};
  EXPECT_EQ(error(matmul), "");
  matmul.tile_size = {32, 64};
  EXPECT_EQ(error(matmul),
            "'nc_matmul' with perf_mode double_row cannot tile columns. (architecture trn2)");
  bench.architecture().features.double_row = false;
  EXPECT_EQ(error(double_row(bench, 8, 8, 8)),
            "'nc_matmul' with perf_mode double_row needs NeuronCore-v3 or newer. (architecture "
            "trn2)");
}

}  // namespace
}  // namespace neuron_sim
