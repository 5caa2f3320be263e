#include "device/numerics/operators.h"

#include <cmath>
#include <limits>
#include <set>

#include "device/base/errors.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Operators, NamesParseBackAndAreDistinct) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(AluOp::kReciprocal); ++i) {
    const AluOp op = static_cast<AluOp>(i);
    EXPECT_EQ(parse_alu_op(name(op)), op);
    EXPECT_TRUE(names.insert(name(op)).second);
  }
  EXPECT_EQ(name(AluOp::kNone), "none");
  EXPECT_EQ(name(AluOp::kGreaterEqual), "greater_equal");
  EXPECT_EQ(name(AluOp::kRightShift), "right_shift");
  EXPECT_EQ(parse_alu_op("max"), AluOp::kMaximum);
  EXPECT_EQ(parse_alu_op("min"), AluOp::kMinimum);
  EXPECT_EQ(name(AluOp::kReciprocal), "reciprocal");
  EXPECT_EQ(parse_alu_op("invert"), AluOp::kInvert);
  EXPECT_EQ(parse_alu_op("modulo"), std::nullopt);
  EXPECT_EQ(parse_alu_op(""), std::nullopt);
}

TEST(Operators, KindsAreToldApart) {
  for (AluOp op : {AluOp::kBitwiseAnd, AluOp::kBitwiseXor, AluOp::kLeftShift, AluOp::kRightShift}) {
    EXPECT_TRUE(is_bitwise(op));
  }
  EXPECT_TRUE(is_bitwise(AluOp::kInvert));
  for (AluOp op : {AluOp::kLogicalXor, AluOp::kPower, AluOp::kNone, AluOp::kAbs}) {
    EXPECT_FALSE(is_bitwise(op));
  }
  for (AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kLogicalOr, AluOp::kBitwiseOr}) {
    EXPECT_TRUE(is_reduction(op));
  }
  for (AluOp op : {AluOp::kDivide, AluOp::kEqual, AluOp::kLeftShift, AluOp::kNone}) {
    EXPECT_FALSE(is_reduction(op));
  }
  for (AluOp op : {AluOp::kMultiply, AluOp::kInvert, AluOp::kAbs, AluOp::kRelu}) {
    EXPECT_TRUE(is_exact_on_integers(op));
  }
  for (AluOp op : {AluOp::kDivide, AluOp::kPower, AluOp::kRsqrt, AluOp::kReciprocal}) {
    EXPECT_FALSE(is_exact_on_integers(op));
  }
}

TEST(Operators, EnginesAndArityFollowTheOperatorTable) {
  std::set<AluOp> unary, not_vector, gpsimd, reductions;
  for (int i = 0; i <= static_cast<int>(AluOp::kReciprocal); ++i) {
    const AluOp op = static_cast<AluOp>(i);
    if (is_unary(op)) unary.insert(op);
    if (!is_vector_operator(op)) not_vector.insert(op);
    if (is_gpsimd_operator(op)) gpsimd.insert(op);
    if (is_reduction(op)) reductions.insert(op);
  }
  EXPECT_EQ(unary, (std::set{AluOp::kInvert, AluOp::kLogicalNot, AluOp::kAbs, AluOp::kSquare,
                             AluOp::kRelu, AluOp::kRsqrt, AluOp::kReciprocal}));
  EXPECT_EQ(not_vector, (std::set{AluOp::kNone, AluOp::kPower, AluOp::kRsqrt}));
  EXPECT_EQ(gpsimd, (std::set{AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply, AluOp::kPower,
                              AluOp::kRsqrt}));
  EXPECT_EQ(reductions,
            (std::set{AluOp::kAdd, AluOp::kSubtract, AluOp::kMultiply, AluOp::kMaximum,
                      AluOp::kMinimum, AluOp::kLogicalAnd, AluOp::kLogicalOr, AluOp::kLogicalXor,
                      AluOp::kBitwiseAnd, AluOp::kBitwiseOr, AluOp::kBitwiseXor}));
}

/// Distance of `actual` from the real number `exact` in units in the last place of fp32.
double error_in_ulps(float actual, double exact) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
  return std::abs(static_cast<double>(actual) - exact) / ulp;
}

TEST(Operators, ResultsAreWithinTheirStatedAccuracy) {
  struct Case {
    AluOp op;
    double ulps;
    double (*exact)(double, double);
  };
  const std::vector<Case> cases = {
      {AluOp::kAdd, 0.5, [](double a, double b) { return a + b; }},
      {AluOp::kSubtract, 0.5, [](double a, double b) { return a - b; }},
      {AluOp::kMultiply, 0.5, [](double a, double b) { return a * b; }},
      {AluOp::kDivide, 0.5, [](double a, double b) { return a / b; }},
      {AluOp::kAbs, 0, [](double a, double) { return std::abs(a); }},
      {AluOp::kSquare, 0.5, [](double a, double) { return a * a; }},
      {AluOp::kRelu, 0, [](double a, double) { return std::max(a, 0.0); }},
      {AluOp::kReciprocal, 0.5, [](double a, double) { return 1 / a; }},
      {AluOp::kRsqrt, 1, [](double a, double) { return 1 / std::sqrt(a); }},
      {AluOp::kPower, 1, [](double a, double b) { return std::pow(a, b); }}};
  for (const Case& c : cases) {
    const bool positive = c.op == AluOp::kRsqrt || c.op == AluOp::kPower;
    const std::vector<double> first = random_values(20000, positive ? 1e-3 : -50, 50, 3);
    const std::vector<double> second = random_values(20000, -6, 6, 4);
    for (size_t i = 0; i < first.size(); ++i) {
      const float a = static_cast<float>(first[i]), b = static_cast<float>(second[i]);
      const double exact = c.exact(a, b);
      if (exact == 0) {
        ASSERT_EQ(apply(c.op, a, b), 0.0F);
        continue;
      }
      // The oracle itself is off by 2^-52; the margin covers it.
      ASSERT_LE(error_in_ulps(apply(c.op, a, b), exact), c.ulps + 1e-6)
          << name(c.op) << "(" << a << ", " << b << ")";
    }
  }
}

TEST(Operators, UnaryOperatorsIgnoreTheSecondOperandAndKeepSpecialValues) {
  for (const float b : {0.0F, 7.0F, kNan}) {
    EXPECT_EQ(apply(AluOp::kAbs, -2.5F, b), 2.5F);
    EXPECT_FALSE(std::signbit(apply(AluOp::kAbs, -0.0F, b)));
    EXPECT_EQ(apply(AluOp::kSquare, -3.0F, b), 9.0F);
    EXPECT_EQ(apply(AluOp::kRelu, -3.0F, b), 0.0F);
    EXPECT_TRUE(std::signbit(apply(AluOp::kRelu, -0.0F, b)));
    EXPECT_EQ(apply(AluOp::kRelu, kInf, b), kInf);
    EXPECT_EQ(apply(AluOp::kRsqrt, 0.25F, b), 2.0F);
    EXPECT_EQ(apply(AluOp::kRsqrt, 0.0F, b), kInf);
    EXPECT_EQ(apply(AluOp::kRsqrt, -0.0F, b), -kInf);
    EXPECT_EQ(apply(AluOp::kRsqrt, kInf, b), 0.0F);
    EXPECT_TRUE(std::isnan(apply(AluOp::kRsqrt, -1.0F, b)));
    EXPECT_EQ(apply(AluOp::kReciprocal, -0.0F, b), -kInf);
    EXPECT_EQ(apply(AluOp::kLogicalNot, -0.0F, b), 1.0F);
    EXPECT_EQ(apply(AluOp::kLogicalNot, kNan, b), 0.0F);
  }
  for (AluOp op : {AluOp::kAbs, AluOp::kSquare, AluOp::kRelu, AluOp::kRsqrt, AluOp::kReciprocal}) {
    EXPECT_TRUE(std::isnan(apply(op, kNan, 1.0F))) << name(op);
  }
  EXPECT_EQ(apply(AluOp::kInvert, int64_t{5}, int64_t{9}), -6);
  EXPECT_EQ(apply(AluOp::kAbs, int64_t{-2147483648LL}, int64_t{9}), 2147483648);
  EXPECT_EQ(apply(AluOp::kSquare, int64_t{65537}, int64_t{9}), 4295098369);
  EXPECT_EQ(apply(AluOp::kRelu, int64_t{-3}, int64_t{9}), 0);
  EXPECT_EQ(apply(AluOp::kLogicalNot, int64_t{0}, int64_t{9}), 1);
}

TEST(Operators, MaximumAndMinimumPropagateNanFromEitherSide) {
  for (AluOp op : {AluOp::kMaximum, AluOp::kMinimum, AluOp::kAbsMax, AluOp::kAbsMin}) {
    EXPECT_TRUE(std::isnan(apply(op, kNan, 1.0F)));
    EXPECT_TRUE(std::isnan(apply(op, 1.0F, kNan)));
  }
  EXPECT_EQ(apply(AluOp::kMaximum, -kInf, 2.0F), 2.0F);
  EXPECT_EQ(apply(AluOp::kMinimum, -kInf, 2.0F), -kInf);
  EXPECT_EQ(apply(AluOp::kAbsMax, -3.0F, 2.0F), 3.0F);
  EXPECT_EQ(apply(AluOp::kAbsMin, -3.0F, 2.0F), 2.0F);
}

TEST(Operators, NanIsTrueAndUnequal) {
  EXPECT_EQ(apply(AluOp::kLogicalAnd, kNan, 1.0F), 1.0F);
  EXPECT_EQ(apply(AluOp::kEqual, kNan, kNan), 0.0F);
  EXPECT_EQ(apply(AluOp::kNotEqual, kNan, kNan), 1.0F);
  EXPECT_EQ(apply(AluOp::kLessEqual, kNan, 1.0F), 0.0F);
  EXPECT_EQ(apply(AluOp::kLogicalXor, -0.0F, 0.0F), 0.0F);
}

TEST(Operators, IntegersAreExactAndShiftsLogical) {
  const int64_t one = 1;
  EXPECT_EQ(apply(AluOp::kAdd, int64_t{2147483647}, one), 2147483648);
  EXPECT_EQ(
      static_cast<uint32_t>(apply(AluOp::kMultiply, int64_t{4294967295}, int64_t{4294967295})), 1U);
  EXPECT_EQ(apply(AluOp::kRightShift, int64_t{-1}, one), 0x7FFFFFFF);
  EXPECT_EQ(apply(AluOp::kLeftShift, one, int64_t{31}), int64_t{1} << 31);
  EXPECT_EQ(apply(AluOp::kLeftShift, one, int64_t{32}), 0);
  EXPECT_EQ(apply(AluOp::kRightShift, one, int64_t{-1}), 0);
  EXPECT_EQ(apply(AluOp::kLess, int64_t{-1}, one), 1);
  EXPECT_EQ(apply(AluOp::kMaximum, int64_t{16777217}, int64_t{16777216}), 16777217);
}

TEST(Operators, AskingForAFormThatDoesNotExistIsOurBug) {
  EXPECT_THROW(apply(AluOp::kBitwiseAnd, 1.0F, 1.0F), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kInvert, 1.0F, 1.0F), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kNone, 1.0F, 1.0F), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kRsqrt, int64_t{1}, int64_t{1}), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kDivide, int64_t{1}, int64_t{1}), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
