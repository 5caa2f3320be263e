#include "device/isa/reduction/tensor_partition_reduce.h"

#include <gtest/gtest.h>

#include "tests/device/isa/patterns.h"

namespace neuron_sim {
namespace {

using enum PartitionReduction;

/// In double, over the rows of a row-major array.
std::vector<double> reduced(PartitionReduction op, const std::vector<double>& data,
                            size_t partitions) {
  const size_t count = data.size() / partitions;
  std::vector<double> result(data.begin(), data.begin() + static_cast<int64_t>(count));
  for (size_t i = count; i < data.size(); ++i) {
    double& value = result[i % count];
    value = op == kMaximum ? std::max(value, data[i]) : value + data[i];
  }
  if (op == kAverage) {
    for (double& value : result) value /= static_cast<double>(partitions);
  }
  return result;
}

void run_reduce(InstructionBench& bench, PartitionReduction op, const View& dst, const View& data) {
  bench.run(TensorPartitionReduce{.dst = dst, .op = op, .data = data});
}

TEST(TensorPartitionReduce, AddsAveragesAndMaximisesEveryDtype) {
  for (const PartitionReduction op : {kAdd, kAverage, kMaximum}) {
    for (const Dtype dtype : all_dtypes()) {
      for (const int64_t partitions : {1, 2, 64, 128}) {
        for (const int64_t count : {1, 33}) {
          InstructionBench bench;
          const View data = bench.tile(kSbuf, dtype, {partitions, count}, "data");
          // Whole numbers, so that fp32 sums are exact in any order.
          std::vector<double> values = random_values(partitions * count, 0, 2, 3);
          for (double& value : values) value = round_to(dtype, std::round(value));
          bench.set(data, values);
          const View dst = bench.tile(kSbuf, kFp32, {1, count}, "dst");
          run_reduce(bench, op, dst, data);
          std::vector<double> expected = reduced(op, values, static_cast<size_t>(partitions));
          for (double& value : expected) value = round_to(kFp32, value);
          expect_values(bench.get(dst), expected);
        }
      }
    }
  }
}

TEST(TensorPartitionReduce, AccumulatesInFp32AndRoundsOnce) {
  InstructionBench bench;
  const View data = bench.tile(kSbuf, kFp32, {128, 7}, "data", random_values(128 * 7));
  const View dst = bench.tile(kSbuf, kFp32, {1, 7}, "dst");
  run_reduce(bench, kAdd, dst, data);
  const std::vector<double> actual = bench.get(dst), expected = reduced(kAdd, bench.get(data), 128);
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(actual[i], expected[i], 128 * 512 * 6e-8);
  const View narrow = bench.tile(kSbuf, kBf16, {1, 7}, "narrow");
  run_reduce(bench, kAdd, narrow, data);
  std::vector<double> rounded = actual;
  for (double& value : rounded) value = round_to(kBf16, value);
  expect_values(bench.get(narrow), rounded);
}

TEST(TensorPartitionReduce, IsExactOn32BitIntegersAndWraps) {
  InstructionBench bench;
  const View data =
      bench.tile(kSbuf, Dtype::kInt32, {3, 2}, "data", {2147483647, 16777217, 1, 1, 1, 0});
  const View dst = bench.tile(kSbuf, Dtype::kInt32, {1, 2}, "dst");
  run_reduce(bench, kAdd, dst, data);
  expect_values(bench.get(dst), {-2147483647, 16777218});
  run_reduce(bench, kMaximum, dst, data);
  expect_values(bench.get(dst), {2147483647, 16777217});
  const View rounded = bench.tile(kSbuf, kFp32, {1, 2}, "rounded");
  run_reduce(bench, kMaximum, rounded, data);
  expect_values(bench.get(rounded), {2147483648.0, 16777216});
}

TEST(TensorPartitionReduce, CombinesBits) {
  for (const Dtype dtype : {Dtype::kUint8, Dtype::kInt16, Dtype::kUint32}) {
    InstructionBench bench;
    const View data = bench.tile(kSbuf, dtype, {3, 3}, "data", {1, 7, 127, 2, 7, 0, 4, 6, 64});
    const View dst = bench.tile(kSbuf, dtype, {1, 3}, "dst");
    run_reduce(bench, kBitwiseOr, dst, data);
    expect_values(bench.get(dst), {7, 7, 127});
    run_reduce(bench, kBitwiseAnd, dst, data);
    expect_values(bench.get(dst), {0, 6, 0});
  }
}

TEST(TensorPartitionReduce, GivesNanWhereAnyElementIsNan) {
  for (const PartitionReduction op : {kAdd, kAverage, kMaximum}) {
    InstructionBench bench;
    const View data = bench.tile(kSbuf, kFp32, {3, 4}, "data",
                                 {NAN, 1, 1, INFINITY, 1, NAN, 1, 1, 1, 1, NAN, INFINITY});
    const View dst = bench.tile(kSbuf, kFp32, {1, 4}, "dst");
    run_reduce(bench, op, dst, data);
    expect_values(bench.get(dst), {NAN, NAN, NAN, INFINITY});
  }
}

TEST(TensorPartitionReduce, WorksOnEveryAccessPattern) {
  for (const Pattern pattern : source_patterns()) {
    InstructionBench bench;
    const View data = pattern_view(bench, pattern, kFp32, "data");
    bench.set(data, std::vector<double>(kPatternValues, 2));
    if (pattern != Pattern::kBroadcast) fill_random(bench, data, 6);
    const View dst = bench.tile(kSbuf, kFp32, {128, 80}, "dst").slice(0, 32, 1).slice(1, 5, 24, 3);
    run_reduce(bench, kMaximum, dst, data);
    expect_values(bench.get(dst), reduced(kMaximum, bench.get(data), 3));
  }
}

TEST(TensorPartitionReduce, ReportsWrongShapesAndDtypes) {
  InstructionBench bench;
  const auto error = [&](PartitionReduction op, std::vector<int64_t> dst, Dtype in, Dtype out,
                         MemoryKind memory = kSbuf) {
    return bench.error(TensorPartitionReduce{.dst = bench.tile(memory, out, std::move(dst), "dst"),
                                             .op = op,
                                             .data = bench.tile(kSbuf, in, {128, 6}, "data")});
  };
  EXPECT_EQ(error(kAdd, {1, 6}, kFp32, Dtype::kInt8), "");
  EXPECT_EQ(error(kAdd, {2, 6}, kFp32, kFp32),
            "operand 'dst' of 'tensor_partition_reduce' is dst[2, 6], but must have one "
            "partition.");
  EXPECT_EQ(error(kAdd, {1, 7}, kFp32, kFp32),
            "number of elements per partition mismatch in parameters (dst[1, 7], data[128, 6]) of "
            "'tensor_partition_reduce'");
  EXPECT_EQ(error(kBitwiseOr, {1, 6}, Dtype::kInt16, Dtype::kUint16), "");
  EXPECT_EQ(error(kBitwiseOr, {1, 6}, kFp32, Dtype::kInt32),
            "dtype float32 of operand 'data' of 'tensor_partition_reduce' is not supported; "
            "expected integers of one size for the bitwise operator bitwise_or.");
  EXPECT_EQ(error(kBitwiseAnd, {1, 6}, Dtype::kInt16, Dtype::kInt32),
            "dtype int32 of operand 'dst' of 'tensor_partition_reduce' is not supported; expected "
            "integers of one size for the bitwise operator bitwise_and.");
  EXPECT_EQ(error(kAdd, {1, 6}, kFp32, kFp32, kPsum),
            "Expected operand 'dst' of 'tensor_partition_reduce' to be in address space 'sbuf', "
            "but got a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(TensorPartitionReduce, DemandsARateOfItsOwn) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(TensorPartitionReduce{.dst = bench.tile(kSbuf, kFp32, {1, 60}, "dst"),
                                         .data = bench.tile(kSbuf, kFp32, {128, 60}, "data")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kPartitionReduce);
  EXPECT_EQ(demand.steps[0].elements, 60);
}

}  // namespace
}  // namespace neuron_sim
