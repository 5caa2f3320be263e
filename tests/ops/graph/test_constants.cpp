#include "ops/graph/constants.h"

#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

const std::vector<int64_t> kShape{4, 6};

GraphKernel step(const GraphTensor& from, const GraphTensor& to) {
  return pointwise([](Expression& e) { return e.input(0) * 2.0 + 0.5; }, {from}, to);
}
GraphKernel step(size_t from, size_t to) {
  return step(tensor_in(from, kShape), tensor_in(to, kShape));
}
GraphKernel ordered(const GraphTensor& from, const std::vector<int64_t>& order, size_t to) {
  GraphKernel kernel = step(from, tensor_in(to, kShape));
  kernel.traits.operands = {{.constant_order = order}};
  return kernel;
}

/// Memories 0 and 1 are constants, 5 and above fresh; arranged ones are numbered from 100 on.
SeparatedKernels separated(std::vector<GraphKernel> kernels) {
  return separate_constants(
      std::move(kernels), [](size_t memory) { return memory < 2; },
      [](size_t memory) { return memory >= 5; }, 100);
}

/// The memories of the first results.
std::vector<size_t> results(const std::vector<GraphKernel>& kernels) {
  std::vector<size_t> memories;
  for (const GraphKernel& kernel : kernels) memories.push_back(kernel.results.front().memory);
  return memories;
}

using Memories = std::vector<size_t>;

TEST(Constants, KernelsOfConstantsAndOfTheirResultsAreSeparatedInOrder) {
  const SeparatedKernels found = separated({step(0, 5), step(2, 6), step(5, 7), step(6, 8)});
  EXPECT_EQ(results(found.constant), (Memories{5, 7}));
  EXPECT_EQ(results(found.others), (Memories{6, 8}));
  EXPECT_EQ(found.folded, (Memories{5, 7}));
}

TEST(Constants, AConstantThatAKernelWritesIsNone) {
  const SeparatedKernels found = separated({step(0, 5), step(2, 0), step(1, 6)});
  EXPECT_EQ(results(found.constant), (Memories{6}));
  EXPECT_EQ(results(found.others), (Memories{5, 0}));
}

TEST(Constants, AResultThatAnotherKernelChangesIsComputedInEveryRun) {
  const SeparatedKernels found = separated({step(0, 5), step(5, 6), step(2, 5)});
  EXPECT_TRUE(found.constant.empty());
  EXPECT_EQ(found.others.size(), 3U);
}

TEST(Constants, AResultThatIsReadAfterTheGraphIsComputedInEveryRun) {
  EXPECT_TRUE(separated({step(0, 4)}).constant.empty());
}

TEST(Constants, AMemoryThatNobodyWroteIsNoConstant) {
  EXPECT_TRUE(separated({step(5, 6)}).constant.empty());
}

TEST(Constants, ConstantOperandsOfOtherKernelsAreStoredInTheOrderThatTheyAskFor) {
  const GraphTensor rows = tensor_in(0, kShape);
  const SeparatedKernels found =
      separated({ordered(rows, {1, 0}, 4), ordered(tensor_in(2, kShape), {1, 0}, 4),
                 ordered(rows, {1, 0}, 5), ordered(rows, {0, 1}, 6)});
  ASSERT_EQ(found.arranged.size(), 1U);
  EXPECT_EQ(found.arranged[0].source, rows);
  const GraphTensor columns = tensor_in(100, kShape, {1, 4});
  EXPECT_EQ(found.arranged[0].arranged, columns);
  EXPECT_EQ(found.arranged[0].bytes(), 24 * 4);
  // Kernel 2 depends on constants alone: its operand stays.
  EXPECT_EQ(found.others[0].operands[0], columns);
  EXPECT_EQ(found.others[1].operands[0].memory, 2U);
}

TEST(Constants, ResultsOfConstantKernelsAreArrangedToo) {
  const SeparatedKernels found = separated({step(0, 5), ordered(tensor_in(5, kShape), {1, 0}, 4)});
  ASSERT_EQ(found.arranged.size(), 1U);
  EXPECT_EQ(found.arranged[0].source.memory, 5U);
}

TEST(Constants, ATensorInItsOrderAlreadyStaysWhereItIs) {
  const std::vector<int64_t> by_rows{0, 1}, by_columns{1, 0};
  EXPECT_FALSE(in_order(tensor_in(0, kShape), by_rows, 9));
  EXPECT_FALSE(in_order(tensor_in(0, kShape, {1, 4}), by_columns, 9));
  EXPECT_TRUE(in_order(tensor_in(0, kShape, {1, 4}), by_rows, 9));
  EXPECT_TRUE(in_order(tensor_in(0, kShape, {8, 1}), by_rows, 9)) << "rows with gaps";
  EXPECT_FALSE(in_order(tensor_in(0, {1, 1}), by_columns, 9)) << "one element";
}

TEST(Constants, RepeatedDimensionsStayRepeated) {
  const std::vector<int64_t> order{0, 2, 1};
  const auto found = in_order(tensor_in(0, {3, 4, 6}, {0, 6, 1}, 5), order, 9);
  EXPECT_EQ(found, tensor_in(9, {3, 4, 6}, {0, 1, 4}));
}

TEST(Constants, OverlappingElementsStayWhereTheyAre) {
  const std::vector<int64_t> order{1, 0};
  EXPECT_FALSE(in_order(tensor_in(0, {4, 6}, {2, 1}), order, 9));
}

}  // namespace
}  // namespace neuron_sim
