#include "ops/graph/fuse_pointwise.h"

#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

using Memories = std::vector<size_t>;

const std::vector<int64_t> kShape{4, 6};

GraphTensor whole(size_t memory) { return tensor_in(memory, kShape); }

/// memory `to` = memory `from` * 2 + number
GraphKernel step(size_t from, size_t to, double number = 1) {
  return pointwise([=](Expression& e) { return e.input(0) * 2.0 + number; }, {whole(from)},
                   whole(to));
}

/// memory `to` = memory `a` - memory `b`
GraphKernel difference(size_t a, size_t b, size_t to) {
  return pointwise([](Expression& e) { return e.input(0) - e.input(1); }, {whole(a), whole(b)},
                   whole(to));
}

Memories memories_of(const std::vector<GraphTensor>& tensors) {
  Memories memories;
  for (const GraphTensor& tensor : tensors) memories.push_back(tensor.memory);
  return memories;
}

/// The joined graph, which computes the same.
std::vector<GraphKernel> fused(const std::vector<GraphKernel>& kernels, const External& external,
                               const std::set<size_t>& places = {}) {
  const HostMemories before = random_memories(std::vector<int64_t>(12, 48));
  const size_t left = kernels_left(kernels, external, before, places);
  std::vector<GraphKernel> result =
      after("fuse_pointwise", hidden(kernels, places), is_in(external));
  EXPECT_EQ(result.size(), left);
  return result;
}

TEST(FusePointwise, AChainOfTwoStoresItsLastResultOnly) {
  const auto kernels = fused({step(0, 1), step(1, 2)}, {0, 2});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].operands, std::vector{whole(0)});
  EXPECT_EQ(kernels[0].results, std::vector{whole(2)});
}

TEST(FusePointwise, KernelsThatShareNothingStayApart) {
  EXPECT_EQ(fused({step(0, 1), step(2, 3)}, {0, 1, 2, 3}).size(), 2U);
  EXPECT_EQ(fused({step(0, 1), step(0, 2)}, {0, 1, 2}).size(), 2U) << "only an operand";
}

TEST(FusePointwise, AResultThatIsReadElsewhereIsStoredToo) {
  const auto kernels = fused({step(0, 1), step(1, 2), step(1, 3)}, {0, 2, 3}, {2});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{1, 2}));
}

TEST(FusePointwise, AResultThatIsReadInPartElsewhereIsStoredToo) {
  GraphKernel part = pointwise([](Expression& e) { return e.input(0) + 1.0; },
                               {tensor_in(1, {3}, {}, 21)}, tensor_in(3, {3}));
  const auto kernels = fused({step(0, 1), step(1, 2), part}, {0, 2, 3});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{1, 2}));
  part.operands[0].byte_offset = 24 * 4;  // after the result
  EXPECT_EQ(memories_of(
                after("fuse_pointwise", {step(0, 1), step(1, 2), part}, is_in({2, 3}))[0].results),
            (Memories{2}));
}

TEST(FusePointwise, AnExternalMemoryStaysStored) {
  const auto kernels = fused({step(0, 1), step(1, 2)}, {0, 1, 2});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{1, 2}));
}

TEST(FusePointwise, AConsumerMovesUpBeforeAKernelThatReadsTheResult) {
  const auto kernels = fused({step(0, 1), step(1, 3), step(1, 2)}, {0, 2, 3}, {1});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{1, 2}));
  EXPECT_EQ(memories_of(kernels[1].results), (Memories{3}));
}

TEST(FusePointwise, AProducerMovesDownBehindAKernelWhoseResultTheConsumerReads) {
  const auto kernels = fused({step(0, 1), step(4, 3), difference(1, 3, 2)}, {0, 2, 4}, {1});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{3}));
  EXPECT_EQ(memories_of(kernels[1].operands), (Memories{0, 3}));
}

TEST(FusePointwise, AKernelInBetweenThatDependsOnBothBlocks) {
  EXPECT_EQ(fused({step(0, 1), step(1, 3), difference(1, 3, 2)}, {0, 2}, {1}).size(), 3U);
}

TEST(FusePointwise, AKernelInBetweenThatOverwritesAnOperandOfBothBlocks) {
  EXPECT_EQ(fused({step(0, 1), step(4, 0), difference(1, 0, 2)}, {0, 2, 4}, {1}).size(), 3U);
}

TEST(FusePointwise, AKernelInBetweenThatOverwritesTheResultIsTheProducer) {
  const auto kernels = fused({step(0, 1), step(4, 1), step(1, 2)}, {0, 2, 4}, {1});
  EXPECT_EQ(kernels.size(), 3U);
  const auto both = fused({step(0, 1), step(4, 1), step(1, 2)}, {0, 1, 2, 4});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(memories_of(both[1].operands), (Memories{4}));
}

TEST(FusePointwise, ADiamondBecomesOneKernel) {
  const auto kernels =
      fused({step(0, 1), step(1, 2, 3), step(1, 3, 4), difference(2, 3, 4)}, {0, 4});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(memories_of(kernels[0].operands), (Memories{0}));
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{4}));
}

TEST(FusePointwise, AnOperandOfBothIsLoadedOnce) {
  const auto kernels = fused({step(0, 1), difference(0, 1, 2)}, {0, 2});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(memories_of(kernels[0].operands), (Memories{0}));
}

TEST(FusePointwise, AnOperandOfBothIsLoadedTwiceWhenTheyReadItInTwoOrders) {
  const GraphTensor square = tensor_in(0, {4, 4}), transposed = tensor_in(0, {4, 4}, {1, 4});
  const GraphKernel twice =
      pointwise([](Expression& e) { return e.input(0) * 2.0; }, {square}, tensor_in(1, {4, 4}));
  const GraphKernel minus = pointwise([](Expression& e) { return e.input(0) - e.input(1); },
                                      {tensor_in(1, {4, 4}), transposed}, tensor_in(2, {4, 4}));
  const auto kernels = fused({twice, minus}, {0, 2});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].operands, (std::vector{square, transposed}));
}

TEST(FusePointwise, AConsumerThatAlsoReadsOtherElementsOfTheResultStays) {
  const GraphKernel shifted = pointwise([](Expression& e) { return e.input(0) - e.input(1); },
                                        {whole(1), tensor_in(1, kShape, {}, 6)}, whole(2));
  EXPECT_EQ(fused({step(0, 1), shifted}, {0, 1, 2}).size(), 2U);
}

TEST(FusePointwise, AResultInPlaceIsReadAsTheNewValue) {
  const auto stored = fused({step(0, 0), difference(0, 1, 2)}, {0, 1, 2});
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(memories_of(stored[0].results), (Memories{0, 2}));
  EXPECT_EQ(fused({step(0, 3), step(3, 3), step(3, 2)}, {0, 2}).size(), 1U);
  EXPECT_EQ(fused({step(0, 1), difference(1, 2, 2)}, {0, 2}).size(), 1U);
}

TEST(FusePointwise, AConsumerThatOverwritesWhatTheProducerTouchesStays) {
  EXPECT_EQ(fused({step(0, 1), step(1, 0)}, {0}).size(), 2U) << "its operand";
  EXPECT_EQ(fused({step(0, 1), step(1, 1)}, {0, 1}).size(), 2U) << "its result";
}

TEST(FusePointwise, AnOperandOfAKernelMayRepeat) {
  const auto add = [](Expression& e) { return e.input(0) + e.input(1); };
  const GraphTensor row = tensor_in(3, kShape, {0, 1}), one = tensor_in(3, kShape, {0, 0}, 7);
  EXPECT_EQ(fused({step(0, 1), pointwise(add, {whole(1), row}, whole(2))}, {0, 2, 3}).size(), 1U);
  EXPECT_EQ(fused({pointwise(add, {whole(0), one}, whole(1)), step(1, 2)}, {0, 2, 3}).size(), 1U);
}

TEST(FusePointwise, AResultThatRepeatsInTheConsumerEndsTheChain) {
  const GraphKernel row = pointwise([](Expression& e) { return e.input(0) * 3.0; },
                                    {tensor_in(0, {6})}, tensor_in(1, {6}));
  const GraphKernel sum = pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                                    {whole(3), tensor_in(1, kShape, {0, 1})}, whole(2));
  EXPECT_EQ(fused({row, sum}, {0, 2, 3}).size(), 2U);
}

TEST(FusePointwise, AConsumerOfTheTransposeJoins) {
  const GraphKernel transposed =
      pointwise([](Expression& e) { return e.input(0) - e.input(1); },
                {tensor_in(1, {6, 4}, {1, 6}), tensor_in(3, {6, 4})}, tensor_in(2, {6, 4}));
  EXPECT_EQ(fused({step(0, 1), transposed}, {0, 2, 3}).size(), 1U);
}

TEST(FusePointwise, AResultThatIsReadInTwoOrdersStays) {
  const GraphKernel square = pointwise([](Expression& e) { return e.input(0) * 2.0; },
                                       {tensor_in(0, {4, 4})}, tensor_in(1, {4, 4}));
  const GraphKernel symmetric =
      pointwise([](Expression& e) { return e.input(0) + e.input(1); },
                {tensor_in(1, {4, 4}), tensor_in(1, {4, 4}, {1, 4})}, tensor_in(2, {4, 4}));
  EXPECT_EQ(fused({square, symmetric}, {0, 2}).size(), 2U);
}

TEST(FusePointwise, AConsumerOfOtherSizesJoinsWhereTheyDivide) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{24}, {2, 12}, {2, 2, 3, 2}, {4, 1, 6}, {8, 3}}) {
    const GraphKernel reshaped =
        pointwise([](Expression& e) { return e.input(0) * e.input(1); },
                  {tensor_in(1, shape), tensor_in(3, shape)}, tensor_in(2, shape));
    EXPECT_EQ(fused({step(0, 1), reshaped}, {0, 2, 3}).size(), 1U);
  }
  const GraphKernel part = pointwise([](Expression& e) { return e.input(0) + 1.0; },
                                     {tensor_in(1, {3, 4})}, tensor_in(2, {3, 4}));
  EXPECT_EQ(fused({step(0, 1), part}, {0, 2}).size(), 2U) << "half of the elements";
}

TEST(FusePointwise, TensorsWithoutDimensionsJoin) {
  const auto scalar = [](size_t from, size_t to) {
    return pointwise([](Expression& e) { return e.input(0) * 2.0; }, {tensor_in(from, {})},
                     tensor_in(to, {}));
  };
  EXPECT_EQ(fused({scalar(0, 1), scalar(1, 2)}, {0, 2}).size(), 1U);
  const GraphKernel one = pointwise([](Expression& e) { return e.input(0) + 1.0; },
                                    {tensor_in(1, {1, 1})}, tensor_in(2, {1, 1}));
  EXPECT_EQ(fused({scalar(0, 1), one}, {0, 2}).size(), 1U);
  const GraphKernel all = pointwise([](Expression& e) { return e.input(0) + 1.0; },
                                    {tensor_in(1, kShape, {0, 0})}, whole(2));
  EXPECT_EQ(fused({scalar(0, 1), all}, {0, 2}).size(), 2U);
}

TEST(FusePointwise, AResultThatNothingReadsIsNotStored) {
  Expression e;
  e.add_result(e.input(0) + 1.0);
  e.add_result(e.input(0) - 1.0);
  const auto kernels = fused({kernel_of(e, {whole(0)}, {whole(1), whole(2)}), step(1, 3)}, {0, 3});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(memories_of(kernels[0].results), (Memories{3}));
}

TEST(FusePointwise, KernelsThatAreNotPointwiseStayAsTheyAre) {
  std::vector<GraphKernel> kernels = hidden({step(0, 1), step(1, 2)}, {0, 1});
  kernels[0].name = "first";
  const auto left = after("fuse_pointwise", kernels, is_in({0, 2}));
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].name, "first");
  EXPECT_EQ(left[0].operands, kernels[0].operands);
  EXPECT_FALSE(left[0].traits.as<Expression>());
}

}  // namespace
}  // namespace neuron_sim
