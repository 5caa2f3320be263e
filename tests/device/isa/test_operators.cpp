#include "device/isa/operators.h"

#include <cmath>
#include <limits>
#include <set>

#include "device/base/errors.h"
#include "tests/device/isa/oracles.h"

namespace neuron_sim {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Operators, names_parse_back_and_are_distinct) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(AluOp::kAbsMin); ++i) {
    const AluOp op = static_cast<AluOp>(i);
    EXPECT_EQ(parse_alu_op(name(op)), op);
    EXPECT_TRUE(names.insert(name(op)).second);
  }
  EXPECT_EQ(name(AluOp::kNone), "none");
  EXPECT_EQ(name(AluOp::kGreaterEqual), "greater_equal");
  EXPECT_EQ(name(AluOp::kRightShift), "right_shift");
  EXPECT_EQ(parse_alu_op("max"), AluOp::kMaximum);
  EXPECT_EQ(parse_alu_op("min"), AluOp::kMinimum);
  EXPECT_EQ(parse_alu_op("modulo"), std::nullopt);
  EXPECT_EQ(parse_alu_op(""), std::nullopt);
}

TEST(Operators, activation_names_parse_back_and_identity_is_copy) {
  for (int i = 0; i <= static_cast<int>(Activation::kRsqrt); ++i) {
    const Activation function = static_cast<Activation>(i);
    EXPECT_EQ(parse_activation(name(function)), function);
  }
  EXPECT_EQ(name(Activation::kIdentity), "copy");
  EXPECT_EQ(parse_activation("identity"), Activation::kIdentity);
  EXPECT_EQ(parse_activation("softplus"), std::nullopt);
}

TEST(Operators, kinds_are_told_apart) {
  for (AluOp op : {AluOp::kBitwiseAnd, AluOp::kBitwiseXor, AluOp::kLeftShift, AluOp::kRightShift}) {
    EXPECT_TRUE(is_bitwise(op));
  }
  for (AluOp op : {AluOp::kLogicalXor, AluOp::kPower, AluOp::kNone}) EXPECT_FALSE(is_bitwise(op));
  for (AluOp op : {AluOp::kAdd, AluOp::kMinimum, AluOp::kLogicalOr, AluOp::kBitwiseOr}) {
    EXPECT_TRUE(is_reduction(op));
  }
  for (AluOp op : {AluOp::kDivide, AluOp::kEqual, AluOp::kLeftShift, AluOp::kNone}) {
    EXPECT_FALSE(is_reduction(op));
  }
  EXPECT_TRUE(is_exact_on_integers(AluOp::kMultiply));
  EXPECT_FALSE(is_exact_on_integers(AluOp::kDivide));
  EXPECT_FALSE(is_exact_on_integers(AluOp::kPower));
}

TEST(Operators, maximum_and_minimum_propagate_nan_from_either_side) {
  for (AluOp op : {AluOp::kMaximum, AluOp::kMinimum, AluOp::kAbsMax, AluOp::kAbsMin}) {
    EXPECT_TRUE(std::isnan(apply(op, kNan, 1.0F)));
    EXPECT_TRUE(std::isnan(apply(op, 1.0F, kNan)));
  }
  EXPECT_EQ(apply(AluOp::kMaximum, -kInf, 2.0F), 2.0F);
  EXPECT_EQ(apply(AluOp::kMinimum, -kInf, 2.0F), -kInf);
  EXPECT_EQ(apply(AluOp::kAbsMax, -3.0F, 2.0F), 3.0F);
  EXPECT_EQ(apply(AluOp::kAbsMin, -3.0F, 2.0F), 2.0F);
}

TEST(Operators, nan_is_true_and_unequal) {
  EXPECT_EQ(apply(AluOp::kLogicalAnd, kNan, 1.0F), 1.0F);
  EXPECT_EQ(apply(AluOp::kEqual, kNan, kNan), 0.0F);
  EXPECT_EQ(apply(AluOp::kNotEqual, kNan, kNan), 1.0F);
  EXPECT_EQ(apply(AluOp::kLessEqual, kNan, 1.0F), 0.0F);
  EXPECT_EQ(apply(AluOp::kLogicalXor, -0.0F, 0.0F), 0.0F);
}

TEST(Operators, integers_are_exact_and_shifts_logical) {
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

TEST(Operators, asking_for_a_form_that_does_not_exist_is_our_bug) {
  EXPECT_THROW(apply(AluOp::kBitwiseAnd, 1.0F, 1.0F), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kNone, 1.0F, 1.0F), SimulatorBug);
  EXPECT_THROW(apply(AluOp::kDivide, int64_t{1}, int64_t{1}), SimulatorBug);
}

}  // namespace
}  // namespace neuron_sim
