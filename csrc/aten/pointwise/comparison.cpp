#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

template <AluOp op>
Value binary(Arguments& a) {
  return a.expression().alu(op, a.value(0), a.value(1));
}

/// A predicate that requires a bool result, as only some do: RuntimeError unless `out` is bool.
void check_boolean_out(Arguments& a, const char* name) {
  TORCH_CHECK(!a.has(1) || a.dtype(1) == at::kBool, name, " does not support non-boolean outputs.");
}

/// No integer is infinite or differs from itself.
template <int sign>
Value is_infinite(Arguments& a) {
  check_boolean_out(a, sign > 0 ? "isposinf" : "isneginf");
  if (a.is_float()) return compare(AluOp::kEqual, a.value(0), sign * kInfinity);
  return compare(AluOp::kNotEqual, a.value(0), a.value(0));
}

Value is_nan(Arguments& a) { return compare(AluOp::kNotEqual, a.value(0), a.value(0)); }

Value signbit(Arguments& a) {
  check_boolean_out(a, "signbit");
  return a.is_float() ? sign_bit(a.value(0)) : compare(AluOp::kLess, a.value(0), 0);
}

Value invert(Arguments& a) {
  const bool logical = a.computed() == at::kBool;
  return a.expression().alu(logical ? AluOp::kLogicalNot : AluOp::kInvert, a.value(0));
}

void check_shifted(Arguments& a) {
  if (a.computed() == at::kBool) throw Refusal{"torch does not shift bools"};
}

/// Zero for amounts below 0 or beyond the dtype: the chip's own shift, of the low bits kept.
Value shifted_left(Arguments& a) {
  check_shifted(a);
  return binary<AluOp::kLeftShift>(a);
}

/// The chip shifts zeros in: numbers with a sign are inverted before and after. Amounts below 0 or
/// beyond the dtype leave the sign only.
Value shifted_right(Arguments& a) {
  check_shifted(a);
  Expression& e = a.expression();
  const Value x = a.value(0), amount = a.value(1);
  const Value inside = e.alu(AluOp::kLogicalAnd, compare(AluOp::kGreaterEqual, amount, 0),
                             compare(AluOp::kLess, amount, 32));
  const Value sign = -compare(AluOp::kLess, x, 0);
  const Value moved = e.alu(AluOp::kRightShift, e.alu(AluOp::kBitwiseXor, x, sign),
                            select(inside, amount, a.constant(31)));
  return e.alu(AluOp::kBitwiseXor, moved, sign);
}

constexpr PointwiseRow kComparisonRows[] = {
    {"eq.Tensor_out eq.Scalar_out", kCommon, kBool, binary<AluOp::kEqual>, 0, Accepts::kAny,
     Numbers::kCast},
    {"ne.Tensor_out ne.Scalar_out", kCommon, kBool, binary<AluOp::kNotEqual>, 0, Accepts::kAny,
     Numbers::kCast},
    {"lt.Tensor_out lt.Scalar_out", kCommon, kBool, binary<AluOp::kLess>, 0, Accepts::kAny,
     Numbers::kCast},
    {"le.Tensor_out le.Scalar_out", kCommon, kBool, binary<AluOp::kLessEqual>, 0, Accepts::kAny,
     Numbers::kCast},
    {"gt.Tensor_out gt.Scalar_out", kCommon, kBool, binary<AluOp::kGreater>, 0, Accepts::kAny,
     Numbers::kCast},
    {"ge.Tensor_out ge.Scalar_out", kCommon, kBool, binary<AluOp::kGreaterEqual>, 0, Accepts::kAny,
     Numbers::kCast},
    {"logical_and.out", kCommon, kBool, binary<AluOp::kLogicalAnd>},
    {"logical_or.out", kCommon, kBool, binary<AluOp::kLogicalOr>},
    {"logical_xor.out", kCommon, kBool, binary<AluOp::kLogicalXor>},
    {"logical_not.out", kCommon, kBool,
     [](Arguments& a) { return a.expression().alu(AluOp::kLogicalNot, a.value(0)); }},
    {"isnan", kCommon, kBool, is_nan},
    {"isposinf.out", kCommon, kBool, is_infinite<1>},
    {"isneginf.out", kCommon, kBool, is_infinite<-1>},
    {"signbit.out", kCommon, kBool, signbit},
    {"bitwise_and.Tensor_out", kCommon, kComputed, binary<AluOp::kBitwiseAnd>},
    {"bitwise_or.Tensor_out", kCommon, kComputed, binary<AluOp::kBitwiseOr>},
    {"bitwise_xor.Tensor_out", kCommon, kComputed, binary<AluOp::kBitwiseXor>},
    {"bitwise_left_shift.Tensor_out __lshift__.Scalar __lshift__.Tensor __ilshift__.Scalar "
     "__ilshift__.Tensor",
     kCommon, kComputed, shifted_left, 0, Accepts::kIntegers, Numbers::kCast},
    {"bitwise_right_shift.Tensor_out __rshift__.Scalar __rshift__.Tensor __irshift__.Scalar "
     "__irshift__.Tensor",
     kCommon, kComputed, shifted_right, 0, Accepts::kIntegers, Numbers::kCast},
    {"bitwise_not.out", kCommon, kComputed, invert, 0b1, Accepts::kIntegers},
};

}  // namespace

std::span<const PointwiseRow> comparison_rows() { return kComparisonRows; }

}  // namespace neuron_sim
