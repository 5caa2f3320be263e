#include "ops/graph/round_at_source.h"

#include "tests/ops/graph/neighbour_kernels.h"

namespace neuron_sim {
namespace {

constexpr Dtype kHalf = Dtype::kBfloat16;
const std::vector<int64_t> kShape{5, 12};

GraphTensor matrix(size_t memory, const std::vector<int64_t>& shape, Dtype dtype = kHalf) {
  return tensor_in(memory, shape, {}, 0, dtype);
}

/// memory 2 = memory 0 @ memory 1, of bfloat16, in fp32.
GraphKernel product() {
  return product_of({matrix(0, {5, 7}), matrix(1, {7, 12})}, matrix(2, kShape, Dtype::kFloat32));
}

GraphKernel cast(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0); }, {from}, to);
}

GraphKernel cast(size_t to, Dtype dtype = kHalf) {
  return cast(matrix(2, kShape, Dtype::kFloat32), matrix(to, kShape, dtype));
}

size_t left(const std::vector<GraphKernel>& kernels, const External& external) {
  const HostMemories before = random_memories({60, 60, 60, 60, 60});
  HostMemories expected = before, actual = before;
  const auto rounded = after("round_at_source", kernels, is_in(external));
  run_graph(built_graph(kernels, external, plain()), expected);
  run_graph(built_graph(rounded, external, plain()), actual);
  for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]);
  return rounded.size();
}

TEST(RoundAtSource, AProductWritesWhatItsOnlyReaderRoundsTo) {
  EXPECT_EQ(left({product(), cast(3)}, {0, 1, 3}), 1U);
}

TEST(RoundAtSource, OfOneDimensionMoreOrLessIsTheSame) {
  const GraphTensor from = tensor_in(2, {5, 3, 4}), to = tensor_in(3, {5, 3, 4}, {}, 0, kHalf);
  EXPECT_EQ(left({product(), cast(from, to)}, {0, 1, 3}), 1U);
}

TEST(RoundAtSource, AResultThatIsReadUnroundedStays) {
  EXPECT_EQ(left({product(), cast(3)}, {0, 1, 2, 3}), 2U) << "after the graph";
  const GraphKernel reader = pointwise([](Expression& e) { return e.input(0) + 1.0; },
                                       {tensor_in(2, kShape)}, tensor_in(4, kShape));
  EXPECT_EQ(left({product(), cast(3), reader}, {0, 1, 3, 4}), 3U);
  EXPECT_EQ(left({product(), reader, cast(3)}, {0, 1, 3, 4}), 3U);
}

TEST(RoundAtSource, ADtypeThatTheKernelDoesNotTakeStays) {
  EXPECT_EQ(left({product(), cast(3, Dtype::kFloat16)}, {0, 1, 3}), 2U);
  GraphKernel fixed = product();
  fixed.traits.rounds_result = false;
  EXPECT_EQ(left({fixed, cast(3)}, {0, 1, 3}), 2U);
}

TEST(RoundAtSource, APartOrAnotherOrderOfTheResultStays) {
  const GraphTensor part = tensor_in(2, {4, 12});
  EXPECT_EQ(left({product(), cast(part, matrix(3, {4, 12}))}, {0, 1, 3}), 2U);
  const GraphTensor turned = tensor_in(2, {12, 5}, {1, 12});
  EXPECT_EQ(left({product(), cast(turned, matrix(3, {12, 5}))}, {0, 1, 3}), 2U);
}

TEST(RoundAtSource, WhatIsReadBetweenIsNotOverwrittenEarly) {
  const GraphKernel reads_target = pointwise([](Expression& e) { return e.input(0) * 2.0; },
                                             {matrix(3, kShape)}, tensor_in(4, kShape));
  EXPECT_EQ(left({product(), reads_target, cast(3)}, {0, 1, 3, 4}), 3U);
}

TEST(DropUnreadResults, LastResultsThatNothingReadsAreGone) {
  const auto results_left = [](const External& external, std::optional<size_t> needed) {
    std::vector<GraphKernel> kernels{
        rows_of(centred(12), {tensor_in(0, kShape)}, {tensor_in(1, kShape), tensor_in(2, {5, 1})})};
    kernels[0].traits = {.needed_results = needed};
    return after("drop_unread_results", kernels, is_in(external))[0].results.size();
  };
  EXPECT_EQ(results_left({0, 1}, 1), 1U);
  EXPECT_EQ(results_left({0, 1, 2}, 1), 2U);
  EXPECT_EQ(results_left({0, 2}, 1), 2U) << "only the last ones";
  EXPECT_EQ(results_left({0, 1}, std::nullopt), 2U);
}

}  // namespace
}  // namespace neuron_sim
