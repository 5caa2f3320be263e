#include <gtest/gtest.h>

#include "device/instruction/float_operand.h"
#include "device/isa/tensor/nc_matmul.h"
#include "tests/device/isa/product_oracle.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

/// Checks that dst holds the bytes of before + stationary.T @ moving by definition.
void expect_product(InstructionBench& bench, const NcMatmul& matmul,
                    const std::vector<double>& before = {}) {
  const std::vector<double> a = bench.get(matmul.stationary);
  const std::vector<double> b = bench.get(matmul.moving);
  const size_t depth = static_cast<size_t>(matmul.stationary.partitions());
  const size_t columns = a.size() / depth;
  const size_t elements = b.size() / depth;
  const bool bf16 =
      fits_bfloat16(matmul.stationary.dtype()) && fits_bfloat16(matmul.moving.dtype());
  std::vector<double> expected, left(depth), right(depth);
  for (size_t m = 0; m < columns; ++m) {
    for (size_t k = 0; k < depth; ++k) left[k] = a[k * columns + m];
    for (size_t n = 0; n < elements; ++n) {
      for (size_t k = 0; k < depth; ++k) right[k] = b[k * elements + n];
      const double* old = before.empty() ? nullptr : &before[m * elements + n];
      expected.push_back(product_element(left, right, old, bf16));
    }
  }
  expect_values(bench.get(matmul.dst), expected);
}

struct Shape {
  int64_t depth, columns, elements;
};

NcMatmul make(InstructionBench& bench, const Shape& shape, Dtype stationary = kFp32,
              Dtype moving = kFp32) {
  const auto [depth, columns, elements] = shape;
  NcMatmul matmul;
  matmul.stationary = bench.tile(kSbuf, stationary, {depth, columns}, "stationary",
                                 random_values(depth * columns, -4, 4, 1));
  matmul.moving = bench.tile(kSbuf, moving, {depth, elements}, "moving",
                             random_values(depth * elements, -4, 4, 2));
  matmul.dst = bench.tile(kPsum, kFp32, {columns, elements}, "dst");
  return matmul;
}

TEST(NcMatmul, MultipliesTilesOfEveryShapeAndDtype) {
  const Shape shapes[] = {{1, 1, 1},   {1, 3, 5},       {7, 1, 13},
                          {33, 65, 1}, {128, 128, 512}, {127, 31, 222}};
  const std::pair<Dtype, Dtype> dtypes[] = {{kFp32, kFp32},
                                            {kFp32, Dtype::kTfloat32},
                                            {Dtype::kTfloat32, Dtype::kTfloat32},
                                            {kBf16, kBf16},
                                            {Dtype::kFloat16, kBf16},
                                            {Dtype::kFloat8E4m3, Dtype::kFloat16},
                                            {Dtype::kFloat8E5m2, Dtype::kFloat8E4m3}};
  for (const Shape& shape : shapes) {
    for (const auto& [stationary, moving] : dtypes) {
      SCOPED_TRACE(text(name(stationary), " ", name(moving), " K ", shape.depth));
      InstructionBench bench;
      const NcMatmul matmul = make(bench, shape, stationary, moving);
      bench.run(matmul);
      expect_product(bench, matmul);
    }
  }
}

TEST(NcMatmul, OverwritesWithoutReadingWhatWasThere) {
  InstructionBench bench;
  const NcMatmul matmul = make(bench, {5, 6, 7});
  bench.set(matmul.dst, std::vector<double>(42, NAN));
  bench.run(matmul);
  expect_product(bench, matmul);
}

TEST(NcMatmul, AccumulatesWithOneAdditionPerElement) {
  InstructionBench bench;
  NcMatmul matmul = make(bench, {128, 128, 512});
  bench.run(matmul);
  const std::vector<double> product = bench.get(matmul.dst);
  const std::vector<double> before = random_values(128 * 512, -100, 100, 3);
  bench.set(matmul.dst, before);
  const std::vector<double> stored = bench.get(matmul.dst);
  matmul.accumulate = true;
  bench.run(matmul);
  expect_product(bench, matmul, stored);
  std::vector<double> expected;
  for (size_t i = 0; i < stored.size(); ++i) {
    expected.push_back(round_to(kFp32, stored[i] + product[i]));
  }
  expect_values(bench.get(matmul.dst), expected);
}

TEST(NcMatmul, AccumulatesIntoScatteredDestinationsWithTheSameBits) {
  InstructionBench bench;
  NcMatmul matmul = make(bench, {64, 32, 60});
  const View wide = bench.tile(kPsum, kFp32, {32, 2, 60}, "wide");
  for (const View& dst : {wide.select(1, 1).split(1, 6, 10).permute({0, 2, 1}),
                          wide.slice(2, 7, 30),  // runs shorter than the one of moving
                          wide.select(1, 0)}) {
    NcMatmul scattered = matmul;
    scattered.dst = dst;
    for (const bool accumulate : {false, true}) {
      matmul.accumulate = scattered.accumulate = accumulate;
      bench.run(matmul);
      bench.run(scattered);
      expect_values(bench.get(scattered.dst), bench.get(matmul.dst));
    }
  }
}

TEST(NcMatmul, TakesMovingOperandsOfSeveralRuns) {
  InstructionBench bench;
  NcMatmul matmul;
  matmul.stationary = bench.tile(kSbuf, kFp32, {100, 50}, "w", random_values(5000));
  const View image =
      bench.tile(kSbuf, kFp32, {100, 9, 11}, "image", random_values(100 * 99, -4, 4, 5));
  matmul.moving = image.slice(1, 1, 7).slice(2, 2, 8);
  const View dst = bench.tile(kPsum, kFp32, {50, 56}, "dst");
  matmul.dst = dst;
  bench.run(matmul);
  expect_product(bench, matmul);
  const std::vector<double> whole = bench.get(dst);
  for (int64_t run = 0; run < 7; ++run) {  // each run is a product of its own, to the bit
    NcMatmul single = matmul;
    single.moving = image.slice(1, 1 + run, 1).slice(2, 2, 8);
    single.dst = dst.slice(1, run * 8, 8);
    bench.run(single);
  }
  expect_values(bench.get(dst), whole);
}

TEST(NcMatmul, ReadsStridedPackedAndBroadcastOperands) {
  for (const Dtype dtype : {kFp32, kBf16}) {
    InstructionBench bench;
    const View weights = bench.tile(kSbuf, dtype, {64, 40, 3}, "w", random_values(64 * 120));
    const View data = bench.tile(kSbuf, dtype, {64, 70, 2}, "x", random_values(64 * 140, -1, 1, 8));
    const View row = bench.tile(kSbuf, dtype, {1, 70}, "row", random_values(70));
    const View dst = bench.tile(kPsum, kFp32, {128, 70}, "dst");
    NcMatmul matmul{.dst = dst.slice(0, 64, 40),
                    .stationary = weights.select(2, 1),
                    .moving = data.select(2, 1)};
    bench.run(matmul);
    expect_product(bench, matmul);
    matmul.moving = row.broadcast(0, 64);
    bench.run(matmul);
    expect_product(bench, matmul);
    matmul.stationary = weights.slice(0, 32, 32).slice(2, 0, 2).slice(1, 0, 20);
    matmul.moving = data.slice(0, 0, 32).select(2, 0);
    bench.run(matmul);
    expect_product(bench, matmul);
  }
}

TEST(NcMatmul, UsesTheWidenedCopyWithTheSameBits) {
  for (const Dtype dtype : {kBf16, Dtype::kFloat16, Dtype::kFloat8E5m2}) {
    for (const bool strided : {false, true}) {
      InstructionBench bench;
      const View weights = bench.tile(kSbuf, dtype, {96, 30, 2}, "w", random_values(96 * 60));
      const View data =
          bench.tile(kSbuf, dtype, {96, 12, 10}, "x", random_values(96 * 120, -1, 1, 9));
      NcMatmul matmul{.dst = bench.tile(kPsum, kFp32, {30, 72}, "dst"),
                      .stationary = strided ? weights.select(2, 1) : weights.slice(1, 0, 15),
                      .moving =
                          strided ? data.slice(2, 1, 6).permute({0, 2, 1}) : data.slice(2, 1, 6)};
      bench.run(matmul);
      expect_product(bench, matmul);
      const std::vector<double> narrow = bench.get(matmul.dst);
      bench.keep_widened(weights);
      bench.keep_widened(data);
      bench.run(matmul);
      expect_values(bench.get(matmul.dst), narrow);
    }
  }
}

TEST(NcMatmul, PropagatesNanAndInfinity) {
  InstructionBench bench;
  NcMatmul matmul{.dst = bench.tile(kPsum, kFp32, {2, 3}, "dst"),
                  .stationary = bench.tile(kSbuf, kFp32, {2, 2}, "w", {1, 0, 1, 1}),
                  .moving =
                      bench.tile(kSbuf, kFp32, {2, 3}, "x", {INFINITY, NAN, 2, -INFINITY, 1, 3})};
  bench.run(matmul);
  expect_values(bench.get(matmul.dst), {NAN, NAN, 5, NAN, NAN, 3});
}

TEST(NcMatmul, MovesBitsInTransposeMode) {
  for (const Dtype dtype : {kFp32, kBf16}) {
    InstructionBench bench;
    NcMatmul matmul{.dst = bench.tile(kPsum, dtype, {3, 4}, "dst"),
                    .stationary =
                        bench.tile(kSbuf, dtype, {4, 3}, "w",
                                   {1, NAN, -0.0, INFINITY, 5, 6, 7, -INFINITY, 9, 10, 11, 12}),
                    .moving = bench.tile(kSbuf, dtype, {4, 4}, "permutation",
                                         {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}),
                    .is_transpose = true};
    bench.run(matmul);
    expect_values(bench.get(matmul.dst),
                  {INFINITY, 1, 7, 10, 5, NAN, -INFINITY, 11, 6, -0.0, 9, 12});
    const Demand demand = bench.demand(matmul);
    EXPECT_EQ(demand.steps[1].matmul,
              dtype == kFp32 ? MatmulClass::kFp32Transpose : MatmulClass::k16bit);
  }
}

TEST(NcMatmul, TransposeModeNeedsOneHotColumns) {
  InstructionBench bench;
  NcMatmul matmul = make(bench, {2, 2, 2});
  matmul.is_transpose = true;
  const std::vector<std::vector<double>> wrong = {{1, 0, 0, 0}, {1, 1, 0, 1}, {1, 0, 0, 2}};
  for (const std::vector<double>& values : wrong) {
    bench.set(matmul.moving, values);
    try {
      bench.run(matmul);
      FAIL() << "no error";
    } catch (const KernelError& error) {
      EXPECT_STREQ(
          error.what(),
          "column 1 of operand 'moving' of 'nc_matmul' with is_transpose must hold exactly "
          "one 1 and zeros.");
    }
  }
}

TEST(NcMatmul, TransposeFlagOnlyNamesTheInstructionWithoutTransposeMode) {
  Architecture architecture = test_architecture();
  architecture.features.exact_transpose = false;
  InstructionBench bench(architecture);
  NcMatmul matmul = make(bench, {9, 8, 7});
  matmul.is_transpose = true;
  bench.run(matmul);
  expect_product(bench, matmul);
  EXPECT_EQ(bench.demand(matmul).steps[1].matmul, MatmulClass::kFp32);
}

}  // namespace
}  // namespace neuron_sim
