#include "ops/graph/follow_products.h"

#include "ops/blocks/axis_windows.h"
#include "ops/pointwise/compose.h"
#include "tests/ops/graph/graph_kernels.h"

namespace neuron_sim {
namespace {

const WriteExpression kDoubled = [](Expression& e) { return e.input(0) * 2.0; };

/// The kernel, a pointwise one, as one that can be followed and whose expression nobody knows.
GraphKernel followable(GraphKernel kernel) {
  const Expression own = *kernel.traits.as<Expression>();
  kernel.traits = {};
  kernel.traits.followed = [own](Builder& builder, HbmTensors operands, HbmTensors others,
                                 HbmTensors results, const Expression& expression,
                                 const InnerWindows&) {
    Expression joined;
    const ElementValue own_value = append_steps(joined, own, {joined.input(0)}).front();
    std::vector<ElementValue> inputs{own_value};
    std::vector<HbmTensor> tensors(operands.begin(), operands.end());
    for (const HbmTensor& other : others) {
      inputs.push_back(joined.input(static_cast<int>(inputs.size())));
      tensors.push_back(other);
    }
    for (const ElementValue value : append_steps(joined, expression, inputs))
      joined.add_result(value);
    emit_pointwise(builder, tensors, results, joined);
  };
  return kernel;
}

/// Kernels that are left when the first can be followed; checks the external memories, which
/// memories 0 and 3 always are.
size_t left_after(const std::vector<GraphKernel>& kernels, External external) {
  external.insert({0, 3});
  const HostMemories before = random_memories({60, 60, 60, 60, 60});
  HostMemories expected = before, actual = before;
  evaluate(kernels, expected);
  std::vector<GraphKernel> hidden = kernels;
  hidden.front() = followable(hidden.front());
  const GraphProgram built = built_graph(hidden, external, {});
  run_graph(built, actual);
  for (const size_t memory : external) EXPECT_EQ(actual[memory], expected[memory]) << memory;
  return built.kernels;
}

const GraphTensor kIn = tensor_in(0, {3, 4, 5}), kSums = tensor_in(1, {3, 4, 5}),
                  kOut = tensor_in(2, {3, 4, 5}), kOther = tensor_in(3, {3, 4, 5});
const WriteExpression kRelu = [](Expression& e) { return maximum(e.input(0), e.constant(0)); };
const WriteExpression kSum = [](Expression& e) { return e.input(0) * 3.0 + e.input(1); };

TEST(FollowProducts, APointwiseKernelJoinsTheProductThatItReads) {
  EXPECT_EQ(left_after({pointwise(kDoubled, {kIn}, kSums), pointwise(kRelu, {kSums}, kOut)}, {2}),
            1U);
  EXPECT_EQ(
      left_after({pointwise(kDoubled, {kIn}, kSums), pointwise(kSum, {kOther, kSums}, kOut)}, {2}),
      1U);
}

TEST(FollowProducts, ItsOtherOperandsMayRepeat) {
  GraphTensor per_row = tensor_in(3, {3, 4, 5}, {0, 1, 0});
  EXPECT_EQ(
      left_after({pointwise(kDoubled, {kIn}, kSums), pointwise(kSum, {kSums, per_row}, kOut)}, {2}),
      1U);
}

TEST(FollowProducts, ItMayGoOverTheElementsInOtherDimensions) {
  EXPECT_EQ(left_after({pointwise(kDoubled, {kIn}, kSums),
                        pointwise(kSum, {tensor_in(1, {12, 5}), tensor_in(3, {12, 5})},
                                  tensor_in(2, {12, 5}, {1, 12}))},
                       {2}),
            1U);
  EXPECT_EQ(left_after({pointwise(kDoubled, {kIn}, kSums),
                        pointwise(kRelu, {tensor_in(1, {3, 2, 2, 5})}, tensor_in(2, {3, 2, 2, 5}))},
                       {2}),
            1U);
}

TEST(FollowProducts, SumsThatAreReadElsewhereAreStored) {
  const GraphKernel first = pointwise(kDoubled, {kIn}, kSums);
  EXPECT_EQ(left_after({first, pointwise(kRelu, {kSums}, kOut)}, {1, 2}), 2U);
  EXPECT_EQ(left_after({first, pointwise(kRelu, {kSums}, kOut),
                        pointwise(kRelu, {tensor_in(1, {4}, {2})}, tensor_in(4, {4}))},
                       {2, 4}),
            3U);
}

TEST(FollowProducts, WhatVectorDoesNotDoFromPsumStaysAKernel) {
  const WriteExpression chosen = [](Expression& e) {
    return select(compare(AluOp::kGreater, e.input(0), 0), e.input(0), e.constant(1));
  };
  EXPECT_EQ(left_after({pointwise(kDoubled, {kIn}, kSums), pointwise(chosen, {kSums}, kOut)}, {2}),
            2U);
}

TEST(FollowProducts, KernelsKeepTheOrderThatTheirMemoriesNeed) {
  // The chain of the other two changes the product's operand.
  const GraphKernel between = pointwise(kRelu, {kOther}, kIn);
  EXPECT_EQ(
      left_after({pointwise(kDoubled, {kIn}, kSums), between, pointwise(kSum, {kSums, kIn}, kOut)},
                 {0, 2}),
      2U);
}

}  // namespace
}  // namespace neuron_sim
