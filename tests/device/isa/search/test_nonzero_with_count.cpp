#include "device/isa/search/nonzero_with_count.h"

#include <gtest/gtest.h>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

constexpr Dtype kInt32 = Dtype::kInt32;

/// What dst holds afterwards: `before` in all partitions but every 16th.
std::vector<double> oracle(const std::vector<double>& src, std::vector<double> before,
                           size_t partitions, double offset, double padding) {
  const size_t count = src.size() / partitions;
  for (size_t p = 0; p < partitions; p += 16) {
    std::vector<double> found;
    for (size_t i = 0; i < count; ++i) {
      if (src[p * count + i] != 0) found.push_back(static_cast<double>(i) + offset);
    }
    const auto nonzero = static_cast<double>(found.size());
    found.resize(count, padding);
    found.push_back(nonzero);
    std::copy(found.begin(), found.end(), before.begin() + static_cast<int64_t>(p * (count + 1)));
  }
  return before;
}

TEST(NonzeroWithCount, AgreesWithTheVendorsExample) {
  InstructionBench bench;
  const View src = bench.tile(kSbuf, kInt32, {1, 8}, "src", {0, 1, 1, 0, 0, 1, 0, 0});
  const View dst = bench.tile(kSbuf, kInt32, {1, 9}, "dst");
  bench.run(NonzeroWithCount{.dst = dst, .src = src, .index_offset = 16});
  expect_values(bench.get(dst), {17, 18, 21, -1, -1, -1, -1, -1, 3});
}

TEST(NonzeroWithCount, WritesEverySixteenthPartitionAndKeepsTheOthers) {
  for (const Dtype dtype : {kFp32, kInt32}) {
    for (const int64_t partitions : {1, 15, 16, 17, 128}) {
      for (const int64_t count : {1, 3, 500}) {
        InstructionBench bench;
        std::vector<double> values = random_values(partitions * count, -2, 2, 8);
        for (double& value : values) value = std::round(value);
        const View src = bench.tile(kSbuf, dtype, {partitions, count}, "src", values);
        const std::vector<double> before(static_cast<size_t>(partitions * (count + 1)), 77);
        const View dst = bench.tile(kSbuf, kInt32, {partitions, count + 1}, "dst", before);
        bench.run(NonzeroWithCount{
            .dst = dst, .src = src, .index_offset = -5, .padding_val = 2147483647});
        expect_values(bench.get(dst),
                      oracle(values, before, static_cast<size_t>(partitions), -5, 2147483647));
      }
    }
  }
}

TEST(NonzeroWithCount, CountsNanAndInfinityButNeitherZero) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kFp32, {128, 12}, "wide", std::vector<double>(128 * 12, 1));
  const View src = wide.slice(0, 96, 1).slice(1, 1, 6, 2);
  bench.set(src, {-0.0, NAN, 0, -INFINITY, 1e-40, 0});
  const View dst = bench.tile(kSbuf, kInt32, {1, 7, 3}, "dst").slice(2, 1, 1);
  bench.run(NonzeroWithCount{.dst = dst, .src = src});
  expect_values(bench.get(dst), {1, 3, 4, -1, -1, -1, 3});
}

TEST(NonzeroWithCount, FindsNothingAndEverything) {
  InstructionBench bench;
  const View src = bench.tile(kSbuf, kInt32, {1, 4}, "src", {0, 0, 0, 0});
  const View dst = bench.tile(kSbuf, kInt32, {1, 5}, "dst");
  const Draft draft = NonzeroWithCount{.dst = dst, .src = src, .padding_val = 9}.draft();
  bench.run(draft);
  expect_values(bench.get(dst), {9, 9, 9, 9, 0});
  bench.set(src, {-1, 1, 2, 3});
  bench.run(draft);
  expect_values(bench.get(dst), {0, 1, 2, 3, 4});
}

TEST(NonzeroWithCount, ReportsWrongOperandsAndGenerations) {
  InstructionBench bench;
  struct Case {
    int64_t results = 5, partitions = 2, offset = 0, padding = -1;
    Dtype src = kFp32, dst = kInt32;
    MemoryKind memory = kSbuf;
  };
  const auto error = [&](const Case& c) {
    return bench.error(
        NonzeroWithCount{.dst = bench.tile(kSbuf, c.dst, {c.partitions, c.results}, "dst"),
                         .src = bench.tile(c.memory, c.src, {2, 4}, "src"),
                         .index_offset = c.offset,
                         .padding_val = c.padding});
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.results = 4}),
            "operand 'dst' of 'nonzero_with_count' (dst[2, 4]) must have 5 elements per partition, "
            "one more than operand 'src' (src[2, 4]).");
  EXPECT_EQ(error({.partitions = 3}),
            "number of partitions (dimension 0 size of a tile) mismatch in parameters (dst[3, 5], "
            "src[2, 4]) of 'nonzero_with_count'");
  EXPECT_EQ(error({.src = kBf16}),
            "dtype bfloat16 of operand 'src' of 'nonzero_with_count' is not supported; expected "
            "float32 or int32.");
  EXPECT_EQ(error({.dst = kFp32}),
            "dtype float32 of operand 'dst' of 'nonzero_with_count' is not supported; expected "
            "int32.");
  EXPECT_EQ(error({.memory = kPsum}),
            "Expected operand 'src' of 'nonzero_with_count' to be in address space 'sbuf', but got "
            "a tile in 'psum' instead. The GpSimd engine cannot access PSUM.");
  EXPECT_EQ(error({.offset = 2147483647, .padding = -2147483648}), "");
  EXPECT_EQ(error({.offset = 2147483648}),
            "index_offset 2147483648 of 'nonzero_with_count' exceeds int32.");
  EXPECT_EQ(error({.padding = -2147483649}),
            "padding_val -2147483649 of 'nonzero_with_count' exceeds int32.");
  bench.architecture().generation = 2;
  bench.architecture().name = "trn1";
  bench.architecture().neuron_core = "NeuronCore-v2";
  EXPECT_EQ(error({}),
            "instruction 'nonzero_with_count' needs NeuronCore-v3 or newer; architecture trn1 is a "
            "NeuronCore-v2.");
}

TEST(NonzeroWithCount, DemandsAReadAndAWritePerElement) {
  InstructionBench bench;
  const Demand demand =
      bench.demand(NonzeroWithCount{.dst = bench.tile(kSbuf, kInt32, {16, 41}, "dst"),
                                    .src = bench.tile(kSbuf, kFp32, {16, 40}, "src")});
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kGpSimdTwoInputs);
  EXPECT_EQ(demand.steps[0].elements, 40);
}

}  // namespace
}  // namespace neuron_sim
