#include "device/isa/reduction/bn_aggr.h"

#include "device/isa/reduction/bn_stats.h"
#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

TEST(BnAggr, MergesTheStatisticsOfTilesOfAnySizeToMeanAndVariance) {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{1}, {2}, {512}, {512, 512, 176}, {1, 1, 1}, {7, 512, 2, 3}}) {
    InstructionBench bench;
    const auto tiles = static_cast<int64_t>(sizes.size());
    const View all = bench.tile(kSbuf, kFp32, {4, tiles, 6}, "statistics");
    std::vector<std::vector<double>> rows(4);
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t size = sizes[static_cast<size_t>(t)];
      const View data = bench.tile(kSbuf, kFp32, {4, size}, "data",
                                   random_values(4 * size, -1, 7, static_cast<unsigned>(t)));
      const std::vector<double> values = bench.get(data);
      for (size_t i = 0; i < values.size(); ++i) {
        rows[i / static_cast<size_t>(size)].push_back(values[i]);
      }
      bench.run(BnStats{.dst = all.select(1, Affine(t)), .data = data});
    }
    const View dst = bench.tile(kPsum, kFp32, {4, 2}, "dst");
    bench.run(BnAggr{.dst = dst, .data = all});
    const std::vector<double> actual = bench.get(dst);
    for (size_t p = 0; p < 4; ++p) {
      double mean = 0, variance = 0;
      for (const double x : rows[p]) mean += x / static_cast<double>(rows[p].size());
      for (const double x : rows[p]) {
        variance += (x - mean) * (x - mean) / static_cast<double>(rows[p].size());
      }
      EXPECT_NEAR(actual[2 * p], mean, 3e-6);
      EXPECT_NEAR(actual[2 * p + 1], variance, 3e-6);
    }
  }
}

TEST(BnAggr, ReadsAnyDtypeAndPatternAndRoundsOnce) {
  for (const Dtype dtype : all_dtypes()) {
    if (dtype == Dtype::kBool) continue;
    for (const Pattern source : {Pattern::kDense, Pattern::kEveryOther, Pattern::kPermuted,
                                 Pattern::kGaps, Pattern::kPartitionOffset}) {
      SCOPED_TRACE(std::string(name(dtype)));
      InstructionBench bench;
      const View data = pattern_view(bench, source, dtype, "data");
      const View dst = bench.tile(kSbuf, kBf16, {3, 2}, "dst");
      const std::vector<double> values = [&] {
        std::vector<double> triples;
        for (int i = 0; i < 24; ++i) {
          for (const double x : {1.0 + i % 3, 2.0 + i % 2, static_cast<double>(i % 4)}) {
            triples.push_back(x);
          }
        }
        return triples;
      }();
      bench.set(data, values);
      bench.run(BnAggr{.dst = dst, .data = data});
      std::vector<double> expected;
      for (size_t p = 0; p < 3; ++p) {
        double count = 0, sum = 0, squares = 0;
        for (size_t i = 24 * p; i < 24 * (p + 1); i += 3) {
          count += values[i];
          sum += values[i] * values[i + 1];
        }
        for (size_t i = 24 * p; i < 24 * (p + 1); i += 3) {
          const double difference = values[i + 1] - sum / count;
          squares += values[i + 2] + values[i] * difference * difference;
        }
        expected.push_back(round_to(kBf16, sum / count));
        expected.push_back(round_to(kBf16, squares / count));
      }
      expect_values(bench.get(dst), expected);
    }
  }
}

TEST(BnAggr, ATripleOfCountZeroChangesNothingAndNoCountGivesNan) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {3, 6}, "data",
                               {4, 2, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, NAN, 0, 1, 1, 0});
  const View dst = bench.tile(kSbuf, kFp32, {3, 2}, "dst");
  bench.run(BnAggr{.dst = dst, .data = data});
  expect_values(bench.get(dst), {2, 2, NAN, NAN, NAN, NAN});
}

TEST(BnAggr, ChecksItsSizesFromBothSides) {
  InstructionBench bench;
  const auto error = [&](int64_t partitions, int64_t elements, int64_t results) {
    return bench.error(BnAggr{.dst = bench.tile(kSbuf, kFp32, {partitions, results}, "d"),
                              .data = bench.tile(kSbuf, kFp32, {partitions, elements}, "x")});
  };
  EXPECT_EQ(error(128, 3, 2), "");
  EXPECT_EQ(error(1, 65535, 2), "");
  for (const int64_t elements : {1, 2, 4, 5}) {
    EXPECT_EQ(error(2, elements, 2), text("operand 'data' of 'bn_aggr' has ", elements,
                                          " elements per partition, but must have a multiple of "
                                          "3."));
  }
  for (const int64_t results : {1, 3}) {
    EXPECT_EQ(error(2, 6, results), text("operand 'dst' of 'bn_aggr' has ", results,
                                         " elements per partition, but must have 2."));
  }
  EXPECT_EQ(error(129, 3, 2),
            "number of partitions 129 exceed architecture limitation of 128. (instruction "
            "'bn_aggr', operand 'data', architecture trn2)");
  BnAggr instruction{.dst = bench.tile(kSbuf, kFp32, {2, 2}, "d"),
                     .data = bench.tile(kSbuf, kFp32, {2, 6}, "x"),
                     .engine = EngineKind::kScalar};
  EXPECT_EQ(bench.error(instruction),
            "instruction 'bn_aggr' cannot run on the Scalar engine; architecture trn2 has it on: "
            "Vector.");
}

TEST(BnAggr, DemandsAStepPerTriple) {
  InstructionBench bench;
  const BnAggr instruction{.dst = bench.tile(kSbuf, kFp32, {2, 2}, "d"),
                           .data = bench.tile(kPsum, kFp32, {2, 18}, "x")};
  const Step step = bench.demand(instruction).steps[0];
  EXPECT_EQ(step.rate, RateClass::kBnAggregate);
  EXPECT_EQ(step.elements, 6);
  EXPECT_TRUE(step.source_psum);
}

}  // namespace
}  // namespace neuron_sim
