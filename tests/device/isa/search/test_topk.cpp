#include "device/isa/search/topk.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {
namespace {

constexpr Dtype kUint32 = Dtype::kUint32;
constexpr double kUntouched = 77;

struct Results {
  std::vector<double> values, indices;
};

/// Element j of the snake of group g in a row-major [partitions, columns] array.
size_t place(size_t group, size_t j, size_t columns) {
  return (group * 16 + j % 16) * columns + j / 16;
}

/// A full sort of every snake.
Results oracle(const std::vector<double>& src, size_t partitions, size_t n, size_t results) {
  Results expected;
  expected.values.assign(partitions * results, kUntouched);
  expected.indices.assign(partitions * results, kUntouched);
  const size_t columns = src.size() / partitions;
  for (size_t group = 0; group < partitions / 16; ++group) {
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](size_t i) {
      const double value = src[place(group, i, columns)];
      return std::pair(!std::isnan(value), std::isnan(value) ? 0 : value);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) > key(b); });
    for (size_t j = 0; j < results; ++j) {
      const size_t element = order[results - 1 - j];
      expected.values[place(group, j, results)] = src[place(group, element, columns)];
      expected.indices[place(group, j, results)] = static_cast<double>(element);
    }
  }
  return expected;
}

void expect_topk(InstructionBench& bench, const View& src, int64_t n, int64_t results) {
  const int64_t partitions = src.partitions();
  const std::vector<double> before(static_cast<size_t>(partitions * results), kUntouched);
  const View values = bench.tile(kSbuf, kBf16, {partitions, results}, "values", before);
  const View indices = bench.tile(kSbuf, kUint32, {partitions, results}, "indices", before);
  bench.run(Topk{.val_dst = values, .idx_dst = indices, .src = src, .n = n});
  const Results expected = oracle(bench.get(src), static_cast<size_t>(partitions),
                                  static_cast<size_t>(n), static_cast<size_t>(results));
  expect_values(bench.get(values), expected.values);
  expect_values(bench.get(indices), expected.indices);
}

TEST(Topk, FindsTheLargestOfEverySnakeInAscendingOrder) {
  for (const int64_t partitions : {16, 32, 128}) {
    for (const int64_t n : {8, 16, 17, 100, 640}) {
      for (const int64_t results : {1, 8}) {
        InstructionBench bench;
        const View src =
            bench.tile(kSbuf, kBf16, {partitions, 40}, "src", random_values(partitions * 40));
        expect_topk(bench, src, n, results);
        expect_topk(bench, src, n, n);
      }
    }
  }
}

TEST(Topk, PrefersTheLowerIndexOfEqualValues) {
  InstructionBench bench;
  const View src = bench.tile(kSbuf, kBf16, {16, 2}, "src", std::vector<double>(32, 1.5));
  expect_topk(bench, src, 32, 5);
  const View values = bench.tile(kSbuf, kBf16, {16, 1}, "v");
  const View indices = bench.tile(kSbuf, kUint32, {16, 1}, "i");
  bench.run(Topk{.val_dst = values, .idx_dst = indices, .src = src, .n = 32});
  EXPECT_EQ(bench.get(indices)[0], 0);
}

TEST(Topk, PutsNanBelowEverything) {
  InstructionBench bench;
  std::vector<double> data(16, NAN);
  data[3] = -INFINITY;
  data[9] = INFINITY;
  data[12] = -0.0;
  data[13] = 0.0;
  const View src = bench.tile(kSbuf, kBf16, {16, 1}, "src", data);
  for (const int64_t results : {1, 3, 4, 6, 16}) expect_topk(bench, src, 16, results);
}

TEST(Topk, ReadsAndWritesStridedPatternsAtAPartitionOffset) {
  InstructionBench bench;
  const View wide = bench.tile(kSbuf, kBf16, {128, 5, 8}, "wide", random_values(128 * 40));
  const View src = wide.slice(0, 64, 16).permute({0, 2, 1}).slice(1, 1, 3, 2);
  const View values = bench.tile(kSbuf, kBf16, {128, 20}, "v").slice(0, 96, 16).slice(1, 2, 9, 2);
  const View indices = bench.tile(kSbuf, kUint32, {16, 9, 3}, "i").slice(2, 1, 1);
  const std::vector<double> before(16 * 9, kUntouched);
  bench.set(values, before);
  bench.set(indices, before);
  bench.run(Topk{.val_dst = values, .idx_dst = indices, .src = src, .n = 201});
  const Results expected = oracle(bench.get(src), 16, 201, 9);
  expect_values(bench.get(values), expected.values);
  expect_values(bench.get(indices), expected.indices);
}

struct Case {
  int64_t n = 100, columns = 10, values = 4, indices = 4, partitions = 16;
  Dtype src = kBf16, val = kBf16, idx = kUint32;
  MemoryKind memory = kSbuf;
};

Draft draft_of(InstructionBench& bench, const Case& c) {
  return Topk{.val_dst = bench.tile(kSbuf, c.val, {c.partitions, c.values}, "values"),
              .idx_dst = bench.tile(kSbuf, c.idx, {c.partitions, c.indices}, "indices"),
              .src = bench.tile(c.memory, c.src, {c.partitions, c.columns}, "src"),
              .n = c.n}
      .draft();
}

TEST(Topk, ReportsCountsOutOfRange) {
  InstructionBench bench;
  const auto error = [&](const Case& c) { return bench.error(draft_of(bench, c)); };
  EXPECT_EQ(error({.n = 8}), "");
  EXPECT_EQ(error({.n = 7}), "n 7 of 'topk' must be 8 to 65535 (architecture trn2).");
  EXPECT_EQ(error({.n = 65535, .columns = 4096}), "");
  EXPECT_EQ(error({.n = 65536, .columns = 4096}),
            "n 65536 of 'topk' must be 8 to 65535 (architecture trn2).");
  EXPECT_EQ(error({.n = 160}), "");
  EXPECT_EQ(error({.n = 161}),
            "n 161 of 'topk' exceeds the 160 elements in 16 partitions of operand 'src' (src[16, "
            "10]).");
  EXPECT_EQ(error({.n = 20, .values = 20, .indices = 20}), "");
  EXPECT_EQ(error({.n = 20, .values = 21, .indices = 21}),
            "operand 'val_dst' of 'topk' (values[16, 21]) asks for 21 results; n 20 and "
            "architecture trn2 allow 1 to 20.");
  EXPECT_EQ(error({.n = 40000, .columns = 4096, .values = 32767, .indices = 32767}), "");
  EXPECT_EQ(error({.n = 40000, .columns = 4096, .values = 32768, .indices = 32768}),
            "operand 'val_dst' of 'topk' (values[16, 32768]) asks for 32768 results; n 40000 and "
            "architecture trn2 allow 1 to 32767.");
}

TEST(Topk, ReportsWrongOperands) {
  InstructionBench bench;
  const auto error = [&](const Case& c) { return bench.error(draft_of(bench, c)); };
  EXPECT_EQ(error({.partitions = 24}),
            "number of partitions 24 of operand 'src' of 'topk' must be a multiple of 16, the "
            "partitions of a GpSimd core of architecture trn2.");
  EXPECT_EQ(error({.indices = 5}),
            "number of elements per partition mismatch in parameters (val_dst[16, 4], idx_dst[16, "
            "5]) of 'topk'");
  EXPECT_EQ(error({.src = kFp32}),
            "dtype float32 of operand 'src' of 'topk' is not supported; expected bfloat16.");
  EXPECT_EQ(error({.val = Dtype::kFloat16}),
            "dtype float16 of operand 'val_dst' of 'topk' is not supported; expected bfloat16.");
  EXPECT_EQ(error({.idx = Dtype::kInt32}),
            "dtype int32 of operand 'idx_dst' of 'topk' is not supported; expected uint32.");
  EXPECT_EQ(error({.memory = kPsum}),
            "Expected operand 'src' of 'topk' to be in address space 'sbuf', but got a tile in "
            "'psum' instead. The GpSimd engine cannot access PSUM.");
}

TEST(Topk, DemandsTheDocumentedSteps) {
  InstructionBench bench;
  const Demand demand = bench.demand(draft_of(bench, {.n = 100}));
  ASSERT_EQ(demand.count, 1);
  EXPECT_EQ(demand.steps[0].rate, RateClass::kGpSimdStep);
  EXPECT_EQ(demand.steps[0].elements, 4 * 100 + 4);
}

}  // namespace
}  // namespace neuron_sim
