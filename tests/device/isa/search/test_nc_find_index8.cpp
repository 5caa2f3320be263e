#include <gtest/gtest.h>

#include "device/isa/search/max8.h"
#include "device/isa/search/nc_find_index8.h"
#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

std::vector<double> first_indices(const std::vector<double>& data, const std::vector<double>& vals,
                                  double missing) {
  const size_t partitions = vals.size() / 8;
  const size_t count = data.size() / partitions;
  std::vector<double> result;
  for (size_t i = 0; i < vals.size(); ++i) {
    double found = missing;
    for (size_t j = count; j-- > 0;) {
      if (data[i / 8 * count + j] == vals[i]) found = static_cast<double>(j);
    }
    result.push_back(found);
  }
  return result;
}

TEST(NcFindIndex8, FindsFirstOccurrences) {
  for (const Dtype dtype : {kFp32, kBf16, Dtype::kInt16}) {
    for (const int64_t elements : {8, 63, 64, 65, 1000, 16384}) {
      InstructionBench bench;
      const View data =
          bench.tile(kSbuf, dtype, {5, elements}, "data", random_values(5 * elements, -90, 90));
      const View vals = bench.tile(kPsum, dtype, {5, 8}, "vals");
      bench.run(Max8{.dst = vals, .src = data});
      for (const Dtype index : {Dtype::kUint16, Dtype::kUint32}) {
        const View dst = bench.tile(kSbuf, index, {5, 8}, "dst");
        bench.run(NcFindIndex8{.dst = dst, .data = data, .vals = vals});
        expect_values(bench.get(dst), first_indices(bench.get(data), bench.get(vals), -1));
      }
    }
  }
}

TEST(NcFindIndex8, GivesAllOnesForMissingValuesAndNan) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {1, 8}, "data", {NAN, 1, 1, -0.0, 2, INFINITY, 3, 4});
  const View vals =
      bench.tile(kSbuf, kFp32, {1, 8}, "vals", {NAN, 1, 1, 0.0, 9, INFINITY, 4, -INFINITY});
  const View narrow = bench.tile(kSbuf, Dtype::kUint16, {1, 8}, "narrow");
  bench.run(NcFindIndex8{.dst = narrow, .data = data, .vals = vals});
  expect_values(bench.get(narrow), {65535, 1, 1, 3, 65535, 5, 7, 65535});
  const View wide = bench.tile(kSbuf, Dtype::kUint32, {1, 8}, "wide");
  bench.run(NcFindIndex8{.dst = wide, .data = data, .vals = vals});
  expect_values(bench.get(wide), {4294967295.0, 1, 1, 3, 4294967295.0, 5, 7, 4294967295.0});
}

TEST(NcFindIndex8, CountsElementsOfStridedPatternsInRowMajorOrder) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kFp32, {40, 6, 7}, "wide", random_values(40 * 42));
  const View data = wide.slice(0, 32, 8).slice(1, 0, 3, 2).permute({0, 2, 1});
  const View vals = bench.tile(kSbuf, kFp32, {8, 8}, "vals");
  bench.run(Max8{.dst = vals, .src = data});
  const View dst = bench.tile(kSbuf, Dtype::kUint32, {8, 16}, "dst").slice(1, 0, 8, 2);
  bench.run(NcFindIndex8{.dst = dst, .data = data, .vals = vals});
  expect_values(bench.get(dst), first_indices(bench.get(data), bench.get(vals), -1));
}

TEST(NcFindIndex8, ReportsWrongSizesAndDtypes) {
  InstructionBench bench;
  const auto error = [&](int64_t elements, int64_t vals, int64_t found, Dtype dtype) {
    return bench.error(NcFindIndex8{.dst = bench.tile(kSbuf, dtype, {2, found}, "dst"),
                                    .data = bench.tile(kSbuf, kFp32, {2, elements}, "data"),
                                    .vals = bench.tile(kSbuf, kFp32, {2, vals}, "vals")});
  };
  EXPECT_EQ(error(8, 8, 8, Dtype::kUint16), "");
  EXPECT_EQ(error(16384, 8, 8, Dtype::kUint16), "");
  EXPECT_EQ(error(7, 8, 8, Dtype::kUint16),
            "operand 'data' of 'nc_find_index8' has 7 elements per partition; architecture trn2 "
            "allows 8 to 16384.");
  EXPECT_EQ(
      error(16385, 8, 8, Dtype::kUint16),
      "operand 'data' of 'nc_find_index8' has 16385 elements per partition; architecture trn2 "
      "allows 8 to 16384.");
  EXPECT_EQ(error(8, 7, 8, Dtype::kUint16),
            "operand 'vals' of 'nc_find_index8' has 7 elements per partition, but must have 8.");
  EXPECT_EQ(error(8, 8, 9, Dtype::kUint16),
            "operand 'dst' of 'nc_find_index8' has 9 elements per partition, but must have 8.");
  EXPECT_EQ(error(8, 8, 8, Dtype::kInt32),
            "dtype int32 of operand 'dst' of 'nc_find_index8' is not supported; expected uint16 or "
            "uint32.");
}

TEST(NcFindIndex8, TakesValuesOfAtMostTwoFreeDimensions) {
  InstructionBench bench;
  const auto error = [&](std::vector<int64_t> vals) {
    return bench.error(NcFindIndex8{.dst = bench.tile(kSbuf, Dtype::kUint32, {2, 8}, "dst"),
                                    .data = bench.tile(kSbuf, kFp32, {2, 2, 2, 2, 2}, "data"),
                                    .vals = bench.tile(kSbuf, kFp32, std::move(vals), "vals")});
  };
  EXPECT_EQ(error({2, 2, 4}), "");
  EXPECT_EQ(error({2, 2, 2, 2}),
            "operand 'vals' of 'nc_find_index8' is vals[2, 2, 2, 2], but may have at most 3 "
            "dimensions.");
}

TEST(NcFindIndex8, DemandsOnePassOverTheData) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(NcFindIndex8{.dst = bench.tile(kSbuf, Dtype::kUint32, {2, 8}, "d"),
                                .data = bench.tile(kSbuf, kFp32, {2, 500}, "data"),
                                .vals = bench.tile(kSbuf, kFp32, {2, 8}, "vals")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].unit, Unit::kElementwise);
  EXPECT_EQ(demand.steps[0].elements, 500);
  EXPECT_FALSE(demand.steps[0].source_psum);
}

}  // namespace
}  // namespace neuron_sim
