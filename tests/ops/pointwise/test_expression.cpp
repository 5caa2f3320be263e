#include "ops/pointwise/expression.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

TEST(Expression, EqualStepsAreOneStep) {
  Expression e;
  const ElementValue x = e.input(0);
  EXPECT_EQ(e.input(0).step(), x.step());
  EXPECT_NE(e.input(1).step(), x.step());
  EXPECT_EQ((x + 2.0).step(), (e.input(0) + 2.0).step());
  EXPECT_NE((x + 2.0).step(), (2.0 - x).step());
  EXPECT_NE(e.constant(0.0).step(), e.constant(-0.0).step());
  EXPECT_EQ(e.constant(NAN).step(), e.constant(NAN).step());
  EXPECT_EQ(call(Activation::kExp, x).step(), call(Activation::kExp, x).step());
  EXPECT_NE(call(Activation::kExp, x).step(), call(Activation::kTanh, x).step());
}

TEST(Expression, ConstantsAreFoldedInFp32) {
  Expression e;
  const auto folded = [&](ElementValue value) {
    EXPECT_TRUE(e.is_constant(value));
    return e.value_of(value);
  };
  EXPECT_EQ(folded(e.constant(1) + 0x1p-30), 1.0);
  EXPECT_EQ(folded(e.constant(1) / e.constant(3)), static_cast<double>(1.0F / 3.0F));
  EXPECT_EQ(folded(2.0 - e.constant(5)), -3.0);
  EXPECT_EQ(folded(-e.constant(5)), -5.0);
  EXPECT_EQ(folded(1.0 / e.constant(0)), INFINITY);
  EXPECT_EQ(folded(e.alu(AluOp::kSquare, e.constant(1e30))), INFINITY);
  EXPECT_EQ(folded(maximum(e.constant(2), e.constant(3))), 3.0);
  EXPECT_EQ(folded(minimum(e.constant(2), e.constant(3))), 2.0);
  EXPECT_EQ(folded(compare(AluOp::kLess, e.constant(2), 3)), 1.0);
  EXPECT_NEAR(folded(call(Activation::kExp, e.constant(1))), std::exp(1.0), 1e-6);
  const ElementValue x = e.input(0), y = e.input(1);
  EXPECT_EQ(select(e.constant(0), x, y).step(), y.step());
  EXPECT_EQ(select(e.constant(NAN), x, y).step(), x.step());
  EXPECT_FALSE(e.is_constant(x + 1.0));
}

TEST(Expression, IntegersAreFoldedModuloTwoToThe32) {
  Expression e(Domain::kInteger);
  EXPECT_EQ(e.value_of(e.constant(2147483647) + 1.0), -2147483648.0);
  EXPECT_EQ(e.value_of(e.constant(16777217) + 2.0), 16777219.0);
  EXPECT_EQ(e.value_of(e.constant(65537) * 65537.0), 131073.0);
  EXPECT_THROW(e.activation(Activation::kExp, e.input(0)), SimulatorBug);
}

TEST(Expression, OperatorsTakeTheOperandsTheyHave) {
  Expression e;
  const ElementValue x = e.input(0);
  EXPECT_THROW(e.alu(AluOp::kAdd, x), SimulatorBug);
  EXPECT_THROW(e.alu(AluOp::kAbs, x, x), SimulatorBug);
}

TEST(Expression, KeysDifferWhereExpressionsDo) {
  const auto key = [](Domain domain, double constant, AluOp op, int result) {
    Expression e(domain);
    const ElementValue x = e.input(0), sum = e.alu(op, x, e.constant(constant));
    e.add_result(result == 0 ? x : sum);
    return e.key();
  };
  const std::vector<int64_t> known = key(Domain::kFloat, 2, AluOp::kAdd, 1);
  EXPECT_EQ(key(Domain::kFloat, 2, AluOp::kAdd, 1), known);
  EXPECT_NE(key(Domain::kInteger, 2, AluOp::kAdd, 1), known);
  EXPECT_NE(key(Domain::kFloat, 2.5, AluOp::kAdd, 1), known);
  EXPECT_NE(key(Domain::kFloat, 2, AluOp::kMaximum, 1), known);
  EXPECT_NE(key(Domain::kFloat, 2, AluOp::kAdd, 0), known);
}

}  // namespace
}  // namespace neuron_sim
