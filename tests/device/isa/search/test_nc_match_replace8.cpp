#include "device/isa/search/nc_match_replace8.h"

#include <gtest/gtest.h>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

constexpr Dtype kUint32 = Dtype::kUint32;
constexpr double kNone32 = 4294967295.0, kNone16 = 65535.0;

struct Found {
  std::vector<double> data, indices;
};

/// One pass over the elements: each takes the last slot that still waits for its value.
Found oracle(const std::vector<double>& data, const std::vector<double>& vals, size_t partitions,
             double imm, double none) {
  Found result{data, std::vector<double>(vals.size(), none)};
  const size_t count = data.size() / partitions;
  for (size_t p = 0; p < partitions; ++p) {
    for (size_t i = 0; i < count; ++i) {
      for (size_t slot = 8; slot-- > 0;) {
        const bool waits = result.indices[p * 8 + slot] == none;
        if (!waits || vals[p * 8 + slot] != data[p * count + i]) continue;
        result.indices[p * 8 + slot] = static_cast<double>(i);
        result.data[p * count + i] = imm;
        break;
      }
    }
  }
  return result;
}

/// Whole numbers, so that every dtype repeats some of them.
void fill_whole(InstructionBench& bench, const View& view, unsigned seed) {
  fill_random(bench, view, seed, 0, 30);
  std::vector<double> values = bench.get(view);
  for (double& value : values) value = std::floor(value);
  bench.set(view, values);
}

TEST(NcMatchReplace8, ReplacesTheFirstMatchOfEachValue) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kInt32, Dtype::kUint8}) {
    for (const int64_t count : {1, 8, 333, 4096}) {
      for (const bool narrow : {false, true}) {
        InstructionBench bench;
        const View data = bench.tile(kSbuf, dtype, {3, count}, "data");
        const View vals = bench.tile(kPsum, kFp32, {3, 2, 4}, "vals");
        fill_whole(bench, data, 1);
        fill_whole(bench, vals, 2);
        const View dst = bench.tile(kSbuf, kFp32, {3, count}, "dst");
        const View index = bench.tile(kSbuf, narrow ? Dtype::kUint16 : kUint32, {3, 8}, "index");
        bench.run(
            NcMatchReplace8{.dst = dst, .data = data, .vals = vals, .imm = -7.5, .dst_idx = index});
        const Found expected =
            oracle(bench.get(data), bench.get(vals), 3, -7.5, narrow ? kNone16 : kNone32);
        expect_values(bench.get(dst), expected.data);
        expect_values(bench.get(index), expected.indices);
      }
    }
  }
}

TEST(NcMatchReplace8, GivesEqualValuesSuccessiveMatchesFromTheLastSlotOn) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 6}, "data", {5, 1, 5, 2, 5, 3});
  const View vals = bench.tile(kSbuf, kFp32, {1, 8}, "vals", {5, 9, 5, 2, 5, 5, 3, 3});
  const View index = bench.tile(kSbuf, kUint32, {1, 8}, "index");
  bench.run(NcMatchReplace8{.dst = data, .data = data, .vals = vals, .imm = 9, .dst_idx = index});
  expect_values(bench.get(data), {9, 1, 9, 9, 9, 9});
  expect_values(bench.get(index), {kNone32, kNone32, 4, 3, 2, 0, kNone32, 5});
}

TEST(NcMatchReplace8, MatchesZerosAndInfinitiesButNoNan) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 5}, "data", {NAN, -0.0, INFINITY, -INFINITY, 0});
  const View vals =
      bench.tile(kSbuf, kFp32, {1, 8}, "vals", {NAN, 0, INFINITY, -INFINITY, NAN, NAN, NAN, NAN});
  const View index = bench.tile(kSbuf, kUint32, {1, 8}, "index");
  bench.run(NcMatchReplace8{.dst = data, .data = data, .vals = vals, .imm = 1, .dst_idx = index});
  expect_values(bench.get(data), {NAN, 1, 1, 1, 0});
  expect_values(bench.get(index), {kNone32, 1, 2, 3, kNone32, kNone32, kNone32, kNone32});
}

TEST(NcMatchReplace8, WorksOnEveryAccessPatternWithoutIndices) {
  for (const Pattern data_pattern : source_patterns()) {
    for (const Pattern dst_pattern : target_patterns()) {
      InstructionBench bench;
      const View data = pattern_view(bench, data_pattern, Dtype::kFloat16, "data");
      const View dst = pattern_view(bench, dst_pattern, Dtype::kInt8, "dst");
      bench.set(data, std::vector<double>(kPatternValues, 3));
      if (data_pattern != Pattern::kBroadcast) fill_whole(bench, data, 4);
      const View vals = bench.tile(kSbuf, kBf16, {3, 8}, "vals");
      fill_whole(bench, vals, 5);
      bench.run(NcMatchReplace8{.dst = dst, .data = data, .vals = vals, .imm = 1000});
      Found expected = oracle(bench.get(data), bench.get(vals), 3, 1000, kNone32);
      for (double& value : expected.data) value = round_to(Dtype::kInt8, value);
      expect_values(bench.get(dst), expected.data);
    }
  }
}

TEST(NcMatchReplace8, ReportsWrongSizesAndDtypes) {
  InstructionBench bench;
  const auto error = [&](int64_t count, int64_t vals, int64_t indices, Dtype index = kUint32,
                         int64_t partitions = 2) {
    return bench.error(NcMatchReplace8{.dst = bench.tile(kSbuf, kFp32, {2, count}, "dst"),
                                       .data = bench.tile(kSbuf, kFp32, {2, count}, "data"),
                                       .vals = bench.tile(kSbuf, kFp32, {partitions, vals}, "vals"),
                                       .dst_idx = bench.tile(kSbuf, index, {2, indices}, "index")});
  };
  EXPECT_EQ(error(16384, 8, 8), "");
  EXPECT_EQ(error(1, 8, 8, Dtype::kUint16), "");
  EXPECT_EQ(error(16385, 8, 8),
            "operand 'data' of 'nc_match_replace8' has 16385 elements per partition; architecture "
            "trn2 allows 1 to 16384.");
  EXPECT_EQ(error(8, 7, 8),
            "operand 'vals' of 'nc_match_replace8' has 7 elements per partition, but must have 8.");
  EXPECT_EQ(error(8, 9, 8),
            "operand 'vals' of 'nc_match_replace8' has 9 elements per partition, but must have 8.");
  EXPECT_EQ(
      error(8, 8, 9),
      "operand 'dst_idx' of 'nc_match_replace8' has 9 elements per partition, but must have 8.");
  EXPECT_EQ(error(8, 8, 8, Dtype::kInt32),
            "dtype int32 of operand 'dst_idx' of 'nc_match_replace8' is not supported; expected "
            "uint16 or uint32.");
  EXPECT_EQ(error(8, 8, 8, kUint32, 3),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (data[2, 8], "
            "vals[3, 8]) of 'nc_match_replace8'");
}

TEST(NcMatchReplace8, TakesValuesOfAtMostTwoFreeDimensions) {
  InstructionBench bench;
  const auto error = [&](std::vector<int64_t> vals) {
    const View data = bench.tile(kSbuf, kFp32, {2, 2, 2, 2, 2}, "data");
    return bench.error(NcMatchReplace8{
        .dst = data, .data = data, .vals = bench.tile(kSbuf, kFp32, std::move(vals), "vals")});
  };
  EXPECT_EQ(error({2, 2, 4}), "");
  EXPECT_EQ(error({2, 2, 2, 2}),
            "operand 'vals' of 'nc_match_replace8' is vals[2, 2, 2, 2], but may have at most 3 "
            "dimensions.");
}

TEST(NcMatchReplace8, DemandsOnePassOverTheData) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(NcMatchReplace8{.dst = bench.tile(kSbuf, kFp32, {2, 500}, "dst"),
                                   .data = bench.tile(kPsum, kFp32, {2, 500}, "data"),
                                   .vals = bench.tile(kSbuf, kFp32, {2, 8}, "vals")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kOneInput);
  EXPECT_EQ(demand.steps[0].elements, 500);
  EXPECT_TRUE(demand.steps[0].source_psum);
}

}  // namespace
}  // namespace neuron_sim
