// remainder, fmod and rounded division. The engines have no remainder: the quotient is rounded to
// an integer, and its product with the divisor is subtracted exactly, in two fp32 pieces.

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/any.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/result_type_native.h>
#include <ATen/ops/where.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/tensor_access.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using Value = ElementValue;

/// A rounding of the quotient, or the remainder.
enum class Rounded : uint8_t { kFloor, kTruncated, kRemainder, kTruncatedRemainder };

/// x - round(x / y) y, exactly, for x / y below 2^23: the product is a sum of two fp32 numbers,
/// from halves of 12 bits, and the difference is one.
Value reduced(Value x, Value y) {
  const Value quotient = nearest(x / y);
  const auto high = [](Value v) {
    const Value shifted = v * 4097.0;
    return shifted - (shifted - v);
  };
  const Value product = quotient * y;
  const Value q1 = high(quotient), q2 = quotient - q1, y1 = high(y), y2 = y - y1;
  const Value error = ((q1 * y1 - product) + q1 * y2 + q2 * y1) + q2 * y2;
  return (x - product) - error;
}

/// |x| modulo |y|. NaN where x / y is 2^46 or more.
Value left_over(Value x, Value y) {
  constexpr double kLarge = 1.2676506002282294e30, kScale = 1 / 16777216.0;  // 2^100 and 2^-24
  const Value nan = x.expression().constant(std::numeric_limits<double>::quiet_NaN());
  const Value one = x.expression().constant(1);
  const Value size = absolute(x), step = absolute(y);
  // Products of large numbers would overflow.
  const Value scale = select(compare(AluOp::kGreater, size, kLarge), one * kScale, one);
  const Value unit = step * scale;
  Value rest = reduced(reduced(size * scale, unit), unit);
  rest = select(compare(AluOp::kLess, rest, 0), rest + unit, rest);
  const Value found = compare(AluOp::kGreaterEqual, rest, 0) * compare(AluOp::kLess, rest, unit);
  rest = select(found, rest, nan) / scale;
  // Also where y is infinite, or so large that its products overflow.
  return select(compare(AluOp::kLess, size, step), size, rest);
}

/// A nonzero result without the sign of y: python's remainder is one y further.
Value differs_in_sign(Value rest, Value y) {
  const Value signs =
      compare(AluOp::kNotEqual, compare(AluOp::kLess, rest, 0), compare(AluOp::kLess, y, 0));
  return signs * compare(AluOp::kNotEqual, rest, 0);
}

/// The integer next to (x - rest) / y, an integer but for rounding; with the sign of x / y at 0.
Value floored(Value x, Value y, Value rest) {
  const Value below = differs_in_sign(rest, y);
  const Value whole = nearest((x - rest) / y - below);
  const Value ratio = x / y;
  const Value zero = copy_sign(absolute(x * 0.0), ratio);
  const Value small = select(compare(AluOp::kEqual, whole, 0), zero, whole);
  // From 2^46 on the remainder is undetermined, and the quotient is whole.
  const Value large = compare(AluOp::kGreaterEqual, absolute(ratio), 70368744177664.0) *
                      compare(AluOp::kLess, absolute(x), std::numeric_limits<double>::infinity());
  const Value result = select(large, ratio, small);
  return select(compare(AluOp::kEqual, y, 0), ratio, result);
}

Value rounded(Rounded kind, Value x, Value y) {
  if (kind == Rounded::kTruncated) return trunc(x / y);
  const Value size = left_over(x, y);
  const Value rest = copy_sign(size, x);
  if (kind == Rounded::kTruncatedRemainder) return rest;
  if (kind == Rounded::kFloor) return floored(x, y, rest);
  return select(differs_in_sign(rest, y), rest + y, rest);
}

/// For int32 tensors. The fp32 quotient is corrected by a second one, and then by one.
Tensor rounded_integers(Rounded kind, const Tensor& x, const Tensor& y) {
  if (at::any(y.eq(0)).item<bool>()) TORCH_CHECK(false, "ZeroDivisionError");
  const Tensor divisor = y.to(at::kFloat);
  const auto quotient_of = [&](const Tensor& rest) {
    return (rest.to(at::kFloat) / divisor).trunc().clamp(-2147483648.0, 2147483520.0).to(at::kInt);
  };
  Tensor quotient = quotient_of(x);
  Tensor rest = x - quotient * y;
  const Tensor more = quotient_of(rest);
  quotient = quotient + more;
  rest = rest - more * y;
  const auto move = [&](const Tensor& where, int64_t steps) {
    quotient = at::where(where, quotient + steps, quotient);
    rest = at::where(where, rest - y * steps, rest);
  };
  const auto beside = [&](const Tensor& value) {
    return value.lt(0).ne(y.lt(0)).logical_and(value.ne(0));
  };
  move(beside(rest), -1);
  move(at::where(y.lt(0), rest.le(y), rest.ge(y)), 1);  // rest - y may overflow
  const bool truncated = kind == Rounded::kTruncated || kind == Rounded::kTruncatedRemainder;
  if (truncated) move(quotient.lt(0).logical_and(rest.ne(0)), 1);
  const bool quotients = kind == Rounded::kFloor || kind == Rounded::kTruncated;
  return quotients ? quotient : rest;
}

/// A constant of the expression, or its next operand.
Value operand(Expression& expression, const Tensor& tensor, std::vector<Tensor>& tensors) {
  if (!on_device(tensor)) return expression.constant(tensor.item().toDouble());
  tensors.push_back(tensor.scalar_type() == at::kLong ? tensor.to(at::kFloat) : tensor);
  return expression.input(static_cast<int>(tensors.size()) - 1);
}

/// The expression of two tensors, formed once.
const FormedExpression& kept_form(Rounded kind) {
  const auto of = [](Rounded each) {
    return make_formed([&](Expression& e) { return rounded(each, e.input(0), e.input(1)); });
  };
  static const FormedExpression floor = of(Rounded::kFloor), truncated = of(Rounded::kTruncated),
                                remainder = of(Rounded::kRemainder),
                                truncated_remainder = of(Rounded::kTruncatedRemainder);
  switch (kind) {
    case Rounded::kFloor: return floor;
    case Rounded::kTruncated: return truncated;
    case Rounded::kRemainder: return remainder;
    default: return truncated_remainder;
  }
}

Tensor& rounded_out(Rounded kind, const Tensor& self, const Tensor& other, Tensor& out) {
  const at::ScalarType type = at::native::result_type(self, other);
  check_computable(type);
  check_computable(out.scalar_type());
  if (type == at::kBool) throw Refusal{"torch does not define it for bool"};
  TORCH_CHECK(c10::canCast(type, out.scalar_type()), "result type ", type,
              " can't be cast to the desired output type ", out.scalar_type());
  const Tensor& first = on_device(self) ? self : other;
  if (!on_device(first)) throw Refusal{"no argument is on the device"};
  const c10::DeviceGuard guard(first.device());
  at::native::resize_output(out, at::infer_size_dimvector(self.sizes(), other.sizes()));
  at::assert_no_internal_overlap(out);
  for (const Tensor* operand : {&self, &other}) at::assert_no_partial_overlap(out, *operand);
  if (out.numel() == 0) return out;
  if (!c10::isFloatingType(type)) {
    // Numbers wrap to the dtype of the result.
    const auto whole = [&](const Tensor& tensor) {
      return tensor.to(type).to(first.device(), at::kInt);
    };
    return out.copy_(rounded_integers(kind, whole(self), whole(other)));
  }
  Expression expression;
  std::vector<Tensor> tensors;
  const Value x = operand(expression, self, tensors), y = operand(expression, other, tensors);
  const bool direct = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return tensor.is_same(out) || !tensor.is_alias_of(out);
  });
  const Tensor result = direct ? out : at::empty(out.sizes(), out.options());
  if (tensors.size() == 2) {
    run_pointwise(kept_form(kind), tensors, result);
  } else {
    expression.add_result(rounded(kind, x, y));
    run_pointwise(expression, tensors, result);
  }
  return direct ? out : out.copy_(result);
}

template <Rounded kind>
Tensor& binary_out(const Tensor& self, const Tensor& other, Tensor& out) {
  return rounded_out(kind, self, other, out);
}

Tensor& divide_out(const Tensor& self, const Tensor& other, std::optional<c10::string_view> mode,
                   Tensor& out) {
  if (!mode) return at::div_out(out, self, other);
  return rounded_out(*mode == "floor" ? Rounded::kFloor : Rounded::kTruncated, self, other, out);
}

Tensor remainder_of_number(const at::Scalar& self, const Tensor& other) {
  return at::remainder(at::native::wrapped_scalar_tensor(self), other);
}

Tensor floor_divide(const Tensor& self, const Tensor& other) {
  return at::div(self, other, "floor");
}

Tensor& floor_divide_in_place(Tensor& self, const Tensor& other) {
  return self.div_(other, "floor");
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("remainder.Tensor_out", device_operator<binary_out<Rounded::kRemainder>>());
  m.impl("remainder.Scalar_Tensor", device_operator<remainder_of_number>());
  m.impl("fmod.Tensor_out", device_operator<binary_out<Rounded::kTruncatedRemainder>>());
  m.impl("div.out_mode", device_operator<divide_out>());
  m.impl("floor_divide", device_operator<floor_divide>());
  m.impl("floor_divide.out", device_operator<binary_out<Rounded::kFloor>>());
  m.impl("floor_divide_.Tensor", device_operator<floor_divide_in_place>());
}

}  // namespace neuron_sim
