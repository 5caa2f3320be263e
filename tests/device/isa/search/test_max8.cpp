#include "device/isa/search/max8.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

std::vector<double> eight_largest(const std::vector<double>& values, size_t partitions) {
  const size_t count = values.size() / partitions;
  std::vector<double> result;
  for (size_t p = 0; p < partitions; ++p) {
    std::vector<double> row(values.begin() + static_cast<int64_t>(p * count),
                            values.begin() + static_cast<int64_t>((p + 1) * count));
    std::stable_sort(row.begin(), row.end(), std::greater<>());
    result.insert(result.end(), row.begin(), row.begin() + 8);
  }
  return result;
}

TEST(Max8, FindsTheEightLargestInDescendingOrder) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kInt32, Dtype::kUint8}) {
    for (const int64_t elements : {8, 9, 333, 16384}) {
      InstructionBench bench;
      const View src =
          bench.tile(kSbuf, dtype, {3, elements}, "src", random_values(3 * elements, 0, 200));
      const View dst = bench.tile(kPsum, dtype, {3, 8}, "dst");
      bench.run(Max8{.dst = dst, .src = src});
      expect_values(bench.get(dst), eight_largest(bench.get(src), 3));
    }
  }
}

TEST(Max8, ReadsStridedPatternsAndWritesAnotherDtype) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kFp32, {96, 6, 7}, "wide", random_values(96 * 42));
  const View src = wide.slice(0, 64, 20).slice(1, 0, 3, 2).slice(2, 2, 4);
  const View dst = bench.tile(kSbuf, Dtype::kFloat16, {20, 2, 10}, "dst").slice(2, 1, 4);
  bench.run(Max8{.dst = dst, .src = src});
  std::vector<double> expected = eight_largest(bench.get(src), 20);
  for (double& value : expected) value = round_to(Dtype::kFloat16, value);
  expect_values(bench.get(dst), expected);
}

TEST(Max8, PutsNanLastAndKeepsTies) {
  InstructionBench bench;
  const View src = bench.tile(
      kSbuf, kFp32, {2, 9}, "src",
      {NAN, 1, -INFINITY, NAN, 3, 3, INFINITY, NAN, 2, NAN, -0.0, 0.0, -0.0, -1, -1, -1, -1, -2});
  const View dst = bench.tile(kSbuf, kFp32, {2, 8}, "dst");
  bench.run(Max8{.dst = dst, .src = src});
  expect_values(bench.get(dst),
                {INFINITY, 3, 3, 2, 1, -INFINITY, NAN, NAN, -0.0, 0.0, -0.0, -1, -1, -1, -1, -2});
}

TEST(Max8, ReplacesNanByAnyNumberThatFollows) {
  InstructionBench bench;
  std::vector<double> values(200, NAN);
  for (int i = 0; i < 8; ++i) values[static_cast<size_t>(40 + 20 * i)] = -1e30 * (i + 1);
  const View src = bench.tile(kSbuf, kFp32, {1, 200}, "src", values);
  const View dst = bench.tile(kSbuf, kFp32, {1, 8}, "dst");
  bench.run(Max8{.dst = dst, .src = src});
  expect_values(bench.get(dst),
                eight_largest({bench.get(src)[40], bench.get(src)[60], bench.get(src)[80],
                               bench.get(src)[100], bench.get(src)[120], bench.get(src)[140],
                               bench.get(src)[160], bench.get(src)[180]},
                              1));
}

TEST(Max8, FindsThemAmongManyEqualOnesInfinitiesAndNan) {
  for (const int64_t elements : {8, 31, 32, 300, 1500}) {
    for (const int64_t numbers : {int64_t{3}, elements / 2, elements}) {
      InstructionBench bench;
      std::vector<double> values = random_values(elements, -3, 3);
      for (double& value : values)
        value = std::round(value) == 3 ? INFINITY : std::round(value) + 0.0;
      values[0] = -INFINITY;
      std::vector<double> expected(values.begin(), values.begin() + numbers);
      std::stable_sort(expected.begin(), expected.end(), std::greater<>());
      expected.resize(8, NAN);
      std::fill(values.begin() + numbers, values.end(), NAN);
      std::rotate(values.begin(), values.begin() + elements / 3, values.end());
      const View src = bench.tile(kSbuf, kFp32, {1, elements}, "src", values);
      const View dst = bench.tile(kSbuf, kFp32, {1, 8}, "dst");
      bench.run(Max8{.dst = dst, .src = src});
      expect_values(bench.get(dst), expected);
    }
  }
}

TEST(Max8, KeepsTheOrderOfBothZeros) {
  for (const int64_t elements : {9, 700}) {
    InstructionBench bench;
    std::vector<double> values(static_cast<size_t>(elements), -1.0);
    for (size_t i = 0; i < 9; ++i) values[i * values.size() / 9] = i % 3 == 0 ? -0.0 : 0.0;
    const View src = bench.tile(kSbuf, kFp32, {1, elements}, "src", values);
    const View dst = bench.tile(kSbuf, kFp32, {1, 8}, "dst");
    bench.run(Max8{.dst = dst, .src = src});
    const std::vector<double> top = bench.get(dst);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(std::signbit(top[i]), i % 3 == 0) << i;
  }
}

TEST(Max8, ReportsWrongSizesAndEngines) {
  InstructionBench bench;
  const auto error = [&](int64_t elements, int64_t found) {
    return bench.error(Max8{.dst = bench.tile(kSbuf, kFp32, {2, found}, "dst"),
                            .src = bench.tile(kSbuf, kFp32, {2, elements}, "src")});
  };
  EXPECT_EQ(error(8, 8), "");
  EXPECT_EQ(error(16384, 8), "");
  EXPECT_EQ(error(7, 8),
            "operand 'src' of 'max8' has 7 elements per partition; architecture trn2 "
            "allows 8 to 16384.");
  EXPECT_EQ(error(16385, 8),
            "operand 'src' of 'max8' has 16385 elements per partition; "
            "architecture trn2 allows 8 to 16384.");
  EXPECT_EQ(error(8, 7), "operand 'dst' of 'max8' has 7 elements per partition, but must have 8.");
  EXPECT_EQ(error(8, 9), "operand 'dst' of 'max8' has 9 elements per partition, but must have 8.");
}

TEST(Max8, DemandsOnePassOverTheSource) {
  InstructionBench bench;
  const Demand demand = bench.demand(Max8{.dst = bench.tile(kSbuf, kFp32, {2, 8}, "dst"),
                                          .src = bench.tile(kPsum, kFp32, {2, 500}, "src")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kElementwise);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kOneInput);
  EXPECT_EQ(demand.steps[0].elements, 500);
  EXPECT_TRUE(demand.steps[0].source_psum);
}

}  // namespace
}  // namespace neuron_sim
