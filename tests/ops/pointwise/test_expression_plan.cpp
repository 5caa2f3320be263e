#include "ops/pointwise/expression_plan.h"

#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {
namespace {

using Write = WriteExpression;

/// Instructions of one tile besides loads and stores.
int64_t instructions(const Write& write, const char* architecture = "trn2") {
  const Expression expression = written(write);
  int operands = 0;
  for (const ExpressionStep& step : expression.steps()) {
    operands = std::max(operands, step.input + 1);
  }
  const TensorSpec spec{{128, 64}, {}};
  const BuiltOp built =
      build_kernel(load_architecture(architecture), pointwise_kernel(expression),
                   std::vector<TensorSpec>(static_cast<size_t>(operands), spec), {spec});
  return static_cast<int64_t>(built.program->instructions.size()) - operands - 1;
}

TEST(ExpressionPlan, OneInstructionTakesWhatItCan) {
  EXPECT_EQ(instructions([](Expression& e) { return e.input(0) + e.input(1); }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return e.input(0) + 1.0; }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return (e.input(0) + 1.0) * 2.0; }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return 3.0 - e.input(0) * 2.0; }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return e.input(0) * 2.0 + e.input(1); }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return e.input(0) - e.input(1) * 2.0; }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return (1.0 - e.input(0)) / e.input(1); }), 1);
  EXPECT_EQ(instructions([](Expression& e) { return call(Activation::kTanh, e.input(0) * 0.5); }),
            1);
  EXPECT_EQ(instructions([](Expression& e) { return maximum(e.input(0) - 2.0, e.constant(0)); }),
            1);
}

TEST(ExpressionPlan, ThreeOperatorsAreTwoInstructions) {
  EXPECT_EQ(instructions([](Expression& e) { return ((e.input(0) + 1.0) * 2.0) - 5.0; }), 2);
  EXPECT_EQ(instructions([](Expression& e) { return (e.input(0) * 2.0) + (e.input(1) * 3.0); }), 2);
  EXPECT_EQ(instructions([](Expression& e) { return ((e.input(0) + 1.0) * 2.0) + e.input(1); }), 2);
  EXPECT_EQ(
      instructions([](Expression& e) { return call(Activation::kExp, e.input(0) + e.input(1)); }),
      2);
}

/// The number of instructions where all operands but the first have one value per partition.
int64_t instructions_per_partition(const Write& write, Dtype dtype = Dtype::kFloat32) {
  const Expression expression = written(write);
  std::vector<TensorSpec> operands{{{128, 64}, {}}};
  for (const ExpressionStep& step : expression.steps()) {
    if (step.input > 0) operands.push_back({{128, 64}, {1, 0}, dtype});
  }
  const BuiltOp built = build_kernel(load_architecture("trn1"), pointwise_kernel(expression),
                                     operands, {{{128, 64}, {}}});
  return static_cast<int64_t>(built.program->instructions.size() - operands.size()) - 1;
}

TEST(ExpressionPlan, ValuesPerPartitionAreOperandsLikeConstants) {
  const Write scaled = [](Expression& e) { return e.input(0) * e.input(1) + e.input(2); };
  EXPECT_EQ(instructions_per_partition(scaled), 1);
  EXPECT_EQ(
      instructions_per_partition([&](Expression& e) { return maximum(scaled(e), e.constant(0)); }),
      1);
  EXPECT_EQ(instructions_per_partition([](Expression& e) { return e.input(1) - e.input(0); }), 1);
  // Not zero: no relu, and a third operator for Vector.
  EXPECT_EQ(
      instructions_per_partition([&](Expression& e) { return maximum(scaled(e), e.constant(1)); }),
      2);
  // An instruction takes numbers in fp32.
  EXPECT_EQ(instructions_per_partition(scaled, Dtype::kBfloat16), 2);
}

TEST(ExpressionPlan, AValueThatOnlyResultsNeedIsComputedIntoEach) {
  Expression e;
  const ElementValue sum = e.input(0) + e.input(1);
  e.add_result(sum);
  e.add_result(sum);
  const ExpressionPlan plan(e, load_architecture("trn1").features);
  EXPECT_TRUE(plan.is_direct(sum.step()));
  EXPECT_EQ(plan.slots(), 0);
}

TEST(ExpressionPlan, AValueWithTwoUsersIsComputedOnce) {
  EXPECT_EQ(instructions([](Expression& e) {
              const ElementValue twice = e.input(0) * 2.0;
              return (twice + e.input(1)) * twice;
            }),
            3);
  EXPECT_EQ(instructions([](Expression& e) {
              const ElementValue sum = e.input(0) + 1.0;
              return sum * sum;
            }),
            2);
}

TEST(ExpressionPlan, StepsThatNothingNeedsAreNotEmitted) {
  EXPECT_EQ(instructions([](Expression& e) {
              e.input(0) * 7.0;
              call(Activation::kExp, e.input(0) + 3.0);
              return e.input(0) + 1.0;
            }),
            1);
}

TEST(ExpressionPlan, ABiasIsPartOfAnActivationWhereItMayBeAConstant) {
  const Write write = [](Expression& e) {
    return call(Activation::kSigmoid, e.input(0) * 0.5 + 1.0);
  };
  for (const char* name : {"trn1", "trn2", "trn3"}) {
    const bool constant_bias = load_architecture(name).features.scalar_constant_bias;
    EXPECT_EQ(instructions(write, name), constant_bias ? 1 : 2) << name;
  }
  // A product after the sum is no scale.
  EXPECT_EQ(instructions(
                [](Expression& e) { return call(Activation::kSigmoid, (e.input(0) + 1.0) * 0.5); }),
            2);
}

TEST(ExpressionPlan, ChainsNameTheirOperatorsInOrder) {
  Expression e;
  const ElementValue x = e.input(0), result = 3.0 - x * 2.0;
  e.add_result(result);
  const ExpressionPlan plan(e, load_architecture("trn2").features);
  const ExpressionChain chain = plan.chain(result.step());
  EXPECT_EQ(chain.base, x.step());
  ASSERT_EQ(chain.links.size(), 2U);
  EXPECT_EQ(chain.links[0].op, AluOp::kMultiply);
  EXPECT_EQ(chain.links[0].constant, 2.0);
  EXPECT_FALSE(chain.links[0].reversed);
  EXPECT_EQ(chain.links[1].op, AluOp::kSubtract);
  EXPECT_EQ(chain.links[1].constant, 3.0);
  EXPECT_TRUE(chain.links[1].reversed);
  EXPECT_TRUE(plan.is_direct(result.step()));
  EXPECT_EQ(plan.slots(), 0);
}

TEST(ExpressionPlan, SlotsAreUsedAgain) {
  Expression e;
  ElementValue value = e.input(0);
  for (int i = 0; i < 20; ++i) value = call(Activation::kTanh, value + e.input(1));
  e.add_result(value);
  EXPECT_EQ(ExpressionPlan(e, load_architecture("trn2").features).slots(), 1);
}

TEST(ExpressionPlan, IntegersTakeAnInstructionPerOperator) {
  Expression e(Domain::kInteger);
  const ElementValue result = (e.input(0) + 1.0) * 2.0;
  e.add_result(result);
  const ExpressionPlan plan(e, load_architecture("trn2").features);
  EXPECT_FALSE(plan.is_absorbed(1));
  EXPECT_FALSE(plan.is_direct(result.step()));
}

}  // namespace
}  // namespace neuron_sim
