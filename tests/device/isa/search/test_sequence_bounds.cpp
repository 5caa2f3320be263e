#include "device/isa/search/sequence_bounds.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

constexpr Dtype kInt32 = Dtype::kInt32;

/// By search from every element, starts then ends.
std::vector<double> oracle(const std::vector<double>& ids) {
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<double> bounds(ids.size() * 2);
  const auto id = [&](int64_t i) { return ids[static_cast<size_t>(i)]; };
  for (int64_t i = 0; i < count; ++i) {
    int64_t start = i, end = i + 1;
    while (start > 0 && id(start - 1) == id(i)) --start;
    while (end < count && id(end) == id(i)) ++end;
    const bool padding = id(i) == 0;
    bounds[static_cast<size_t>(i)] = static_cast<double>(padding ? count : start);
    bounds[static_cast<size_t>(count + i)] = static_cast<double>(padding ? -1 : end);
  }
  return bounds;
}

TEST(SequenceBounds, AgreesWithTheVendorsExample) {
  InstructionBench bench;
  const View ids = bench.tile(kSbuf, kFp32, {1, 9}, "ids", {0, 1, 1, 2, 2, 2, 0, 3, 3});
  const View dst = bench.tile(kSbuf, kFp32, {1, 2, 9}, "dst");
  bench.run(SequenceBounds{.dst = dst, .segment_ids = ids});
  expect_values(bench.get(dst), {9, 1, 1, 3, 3, 3, 9, 7, 7, -1, 3, 3, 6, 6, 6, -1, 9, 9});
}

TEST(SequenceBounds, FindsTheRunAroundEveryElement) {
  for (const Dtype in : {kFp32, kInt32}) {
    for (const Dtype out : {kFp32, kInt32}) {
      for (const int64_t count : {1, 2, 77, 4096}) {
        InstructionBench bench;
        std::vector<double> values = random_values(count, -2, 3, 4);
        for (double& value : values) value = std::round(value) + 0.0;
        const View ids = bench.tile(kSbuf, in, {1, count}, "ids", values);
        const View dst = bench.tile(kSbuf, out, {1, 2, count}, "dst");
        bench.run(SequenceBounds{.dst = dst, .segment_ids = ids});
        expect_values(bench.get(dst), oracle(values));
      }
    }
  }
}

TEST(SequenceBounds, TellsLargeIntegersApartThatAreOneInFp32) {
  InstructionBench bench;
  const View ids = bench.tile(kSbuf, kInt32, {1, 3}, "ids", {16777216, 16777217, 16777217});
  const View dst = bench.tile(kSbuf, kInt32, {1, 2, 3}, "dst");
  bench.run(SequenceBounds{.dst = dst, .segment_ids = ids});
  expect_values(bench.get(dst), {0, 1, 1, 1, 3, 3});
}

TEST(SequenceBounds, TakesNanAsASegmentOfItsOwnAndBothZerosAsPadding) {
  InstructionBench bench;
  const View ids = bench.tile(kSbuf, kFp32, {1, 5}, "ids", {NAN, NAN, -0.0, INFINITY, INFINITY});
  const View dst = bench.tile(kSbuf, kFp32, {1, 2, 5}, "dst");
  bench.run(SequenceBounds{.dst = dst, .segment_ids = ids});
  expect_values(bench.get(dst), {0, 1, 5, 3, 3, 1, 2, -1, 5, 5});
}

TEST(SequenceBounds, WorksOnStridedPatternsAtAPartitionOffset) {
  InstructionBench bench;
  const View wide =
      bench.tile(kSbuf, kInt32, {128, 3, 6}, "wide", std::vector<double>(128 * 18, 7));
  const View ids = wide.slice(0, 96, 1).permute({0, 2, 1}).slice(1, 1, 2, 3);
  bench.set(ids, {4, 4, 0, 5, 5, 4});
  const View dst = bench.tile(kSbuf, kInt32, {64, 2, 20}, "dst").slice(0, 32, 1).slice(2, 1, 6, 3);
  bench.run(SequenceBounds{.dst = dst, .segment_ids = ids});
  expect_values(bench.get(dst), oracle({4, 4, 0, 5, 5, 4}));
}

TEST(SequenceBounds, ReportsWrongShapesAndDtypes) {
  InstructionBench bench;
  const auto error = [&](std::vector<int64_t> ids, std::vector<int64_t> dst, Dtype in = kFp32,
                         Dtype out = kFp32, MemoryKind memory = kSbuf) {
    return bench.error(
        SequenceBounds{.dst = bench.tile(kSbuf, out, std::move(dst), "dst"),
                       .segment_ids = bench.tile(memory, in, std::move(ids), "ids")});
  };
  EXPECT_EQ(error({1, 5}, {1, 2, 5}), "");
  EXPECT_EQ(error({2, 5}, {1, 2, 5}),
            "operand 'segment_ids' of 'sequence_bounds' is ids[2, 5], but must have one "
            "partition.");
  EXPECT_EQ(error({1, 5}, {2, 2, 5}),
            "operand 'dst' of 'sequence_bounds' is dst[2, 2, 5], but must have one partition.");
  EXPECT_EQ(error({1, 5}, {1, 2, 6}),
            "operand 'dst' of 'sequence_bounds' is dst[1, 2, 6], but must be [1, 2, 5] for operand "
            "'segment_ids' (ids[1, 5]).");
  EXPECT_EQ(error({1, 5}, {1, 10}),
            "operand 'dst' of 'sequence_bounds' is dst[1, 10], but must be [1, 2, 5] for operand "
            "'segment_ids' (ids[1, 5]).");
  EXPECT_EQ(error({1, 5}, {1, 2, 5}, Dtype::kInt16),
            "dtype int16 of operand 'segment_ids' of 'sequence_bounds' is not supported; expected "
            "float32 or int32.");
  EXPECT_EQ(error({1, 5}, {1, 2, 5}, kFp32, Dtype::kUint32),
            "dtype uint32 of operand 'dst' of 'sequence_bounds' is not supported; expected float32 "
            "or int32.");
  EXPECT_EQ(error({1, 5}, {1, 2, 5}, kFp32, kFp32, kPsum),
            "Expected operand 'segment_ids' of 'sequence_bounds' to be in address space 'sbuf', "
            "but got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(SequenceBounds, DemandsAPassForEachOfTheBounds) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(SequenceBounds{.dst = bench.tile(kSbuf, kFp32, {1, 2, 50}, "dst"),
                                  .segment_ids = bench.tile(kSbuf, kFp32, {1, 50}, "ids")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kGpSimdOneInput);
  EXPECT_EQ(demand.steps[0].elements, 100);
}

}  // namespace
}  // namespace neuron_sim
