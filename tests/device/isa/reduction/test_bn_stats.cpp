#include "device/isa/reduction/bn_stats.h"

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

/// Count, mean and sum of squared differences of every other value, in float64.
std::vector<double> oracle_half(const std::vector<double>& row, size_t first) {
  double count = 0, sum = 0, squares = 0;
  for (size_t i = first; i < row.size(); i += 2) {
    count += 1;
    sum += row[i];
  }
  if (count == 0) return {0, 0, 0};
  for (size_t i = first; i < row.size(); i += 2) {
    squares += (row[i] - sum / count) * (row[i] - sum / count);
  }
  return {count, sum / count, squares};
}

void expect_statistics(const std::vector<double>& actual, const std::vector<double>& data,
                       size_t partitions, double tolerance) {
  ASSERT_EQ(actual.size(), 6 * partitions);
  const size_t row = data.size() / partitions;
  for (size_t p = 0; p < partitions; ++p) {
    const std::vector<double> values(data.begin() + static_cast<int64_t>(p * row),
                                     data.begin() + static_cast<int64_t>((p + 1) * row));
    for (const size_t half : {0, 1}) {
      const std::vector<double> exact = oracle_half(values, half);
      for (size_t k = 0; k < 3; ++k) {
        const double bound = tolerance * std::max(1.0, std::abs(exact[k]));
        EXPECT_NEAR(actual[6 * p + 3 * half + k], exact[k], bound) << p << " " << half << " " << k;
      }
    }
  }
}

TEST(BnStats, GivesCountMeanAndSquaresOfEvenAndOddElements) {
  for (const int64_t size : {1, 2, 3, 31, 32, 33, 511, 512}) {
    InstructionBench bench;
    const View data = bench.tile(kPsum, kFp32, {3, size}, "data", random_values(3 * size, -1, 5));
    const View dst = bench.tile(kSbuf, kFp32, {3, 6}, "dst");
    bench.run(BnStats{.dst = dst, .data = data});
    expect_statistics(bench.get(dst), bench.get(data), 3, 2e-6);
  }
}

TEST(BnStats, GoesOverAllDtypesAndPatterns) {
  for (const Dtype dtype : all_dtypes()) {
    for (const Pattern source : source_patterns()) {
      SCOPED_TRACE(std::string(name(dtype)));
      InstructionBench bench;
      const View data = pattern_view(bench, source, dtype, "data");
      const View dst = bench.tile(kSbuf, kFp32, {3, 2, 6}, "dst").slice(2, 0, 3, 2);
      fill_random(bench, data, 6, 0, 9);
      bench.run(BnStats{.dst = dst, .data = data});
      expect_statistics(bench.get(dst), bench.get(data), 3, 2e-6);
    }
  }
}

TEST(BnStats, RoundsOnceToTheDestination) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 4}, "data", {1.001, 3, 1.001, 5});
  const View dst = bench.tile(kSbuf, kBf16, {1, 6}, "dst");
  bench.run(BnStats{.dst = dst, .data = data});
  expect_values(bench.get(dst), {2, 1, 0, 2, 4, 2});
}

TEST(BnStats, DoesNotLoseTheVarianceOfValuesFarFromZero) {
  InstructionBench bench;
  std::vector<double> values;
  for (int i = 0; i < 512; ++i) values.push_back(10000 + (i / 2 % 2));
  const View data = bench.tile(kSbuf, kFp32, {1, 512}, "data", values);
  const View dst = bench.tile(kSbuf, kFp32, {1, 6}, "dst");
  bench.run(BnStats{.dst = dst, .data = data});
  expect_values(bench.get(dst), {256, 10000.5, 64, 256, 10000.5, 64});
}

TEST(BnStats, NanAndInfinityStayInTheirHalfAndASingleElementHasNoOddHalf) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {2, 4}, "data", {1, NAN, 3, 1, 2, 5, INFINITY, 5});
  const View dst = bench.tile(kSbuf, kFp32, {2, 6}, "dst");
  bench.run(BnStats{.dst = dst, .data = data});
  expect_values(bench.get(dst), {2, 2, 2, 2, NAN, NAN, 2, INFINITY, NAN, 2, 5, 0});
  bench.run(BnStats{.dst = dst, .data = data.slice(1, 0, 1)});
  expect_values(bench.get(dst), {1, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0});
}

TEST(BnStats, ChecksItsSizesFromBothSides) {
  InstructionBench bench;
  const auto error = [&](int64_t partitions, int64_t elements, int64_t results) {
    return bench.error(BnStats{.dst = bench.tile(kSbuf, kFp32, {partitions, results}, "d"),
                               .data = bench.tile(kSbuf, kFp32, {partitions, elements}, "x")});
  };
  EXPECT_EQ(error(128, 512, 6), "");
  EXPECT_EQ(error(128, 513, 6),
            "size of dimension 1 in 'data[128, 513]' of 'bn_stats' exceed architecture limitation "
            "of 512. (architecture trn2)");
  EXPECT_EQ(error(129, 2, 6),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'bn_stats', operand 'data', architecture trn2)");
  for (const int64_t results : {5, 7}) {
    EXPECT_EQ(error(2, 2, results), text("operand 'dst' of 'bn_stats' has ", results,
                                         " elements per partition, but must have 6."));
  }
  BnStats instruction{.dst = bench.tile(kSbuf, kFp32, {2, 6}, "d"),
                      .data = bench.tile(kSbuf, kFp32, {2, 6}, "x"),
                      .engine = EngineKind::kGpSimd};
  EXPECT_EQ(bench.error(instruction),
            "instruction 'bn_stats' cannot run on the GpSimd engine; architecture trn2 has it on: "
            "Vector.");
}

TEST(BnStats, DemandsOnePass) {
  InstructionBench bench;
  const BnStats instruction{.dst = bench.tile(kSbuf, kFp32, {2, 6}, "d"),
                            .data = bench.tile(kPsum, kFp32, {2, 70}, "x")};
  const Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kOneInput);
  EXPECT_EQ(step.elements, 70);
  EXPECT_TRUE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
