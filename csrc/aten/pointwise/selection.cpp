// Signs, limits, choices and constants.

#include <torch/version.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

Value magnitude(Arguments& a) {
  if (a.is_float()) return absolute(a.value(0));
  return maximum(a.value(0), -a.value(0));
}

/// 0 for NaN, as on the CPU; the activation function gives NaN.
Value sign(Arguments& a) {
  return compare(AluOp::kGreater, a.value(0), 0) - compare(AluOp::kLess, a.value(0), 0);
}

/// Whether argument `index` bounds nothing, as it is an integer on a side of its dtype's range. Up
/// to torch 2.14 it is an error.
bool is_no_bound(const Arguments& a, size_t index, int side) {
  constexpr bool kMayBe = TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 15;
  return kMayBe && a.side_of_range(index) == side;
}

/// Of two zeros the engines take the second operand: here the value, as torch does.
Value at_least(Arguments& a) {
  return is_no_bound(a, 1, -1) ? a.value(0) : maximum(a.value(1), a.value(0));
}
Value at_most(Arguments& a) {
  return is_no_bound(a, 1, 1) ? a.value(0) : minimum(a.value(1), a.value(0));
}

/// Either limit may be absent. A NaN limit makes every element NaN, and the other is ignored,
/// even where it does not fit the dtype.
Value clamp(Arguments& a) {
  Value value = a.value(0);
  for (const size_t limit : {size_t{1}, size_t{2}}) {
    if (!a.has(limit) || a.is_on_device(limit) || !a.is_float()) continue;
    const double number = a.cast_number(limit);
    if (std::isnan(number)) return maximum(value, a.constant(number));
  }
  if (a.has(1) && !is_no_bound(a, 1, -1)) value = maximum(a.value(1), value);
  if (a.has(2) && !is_no_bound(a, 2, 1)) value = minimum(a.value(2), value);
  return value;
}

/// The other operand where one is NaN.
template <AluOp op>
Value ignoring_nan(Arguments& a) {
  const Value x = a.value(0), y = a.value(1);
  const Value plain = a.expression().alu(op, x, y);
  if (!a.is_float()) return plain;
  return select(compare(AluOp::kNotEqual, x, x), y,
                select(compare(AluOp::kNotEqual, y, y), x, plain));
}

Value with_sign(Arguments& a) { return copy_sign(absolute(a.value(0)), a.value(1)); }

Value without_nan(Arguments& a) {
  if (!a.is_float()) return a.value(0);
  const double largest = a.computed() == at::kHalf       ? 65504
                         : a.computed() == at::kBFloat16 ? 3.3895313892515355e38
                                                         : std::numeric_limits<float>::max();
  const auto given = [&](size_t index, double otherwise) {
    return a.constant(a.has(index) ? a.number(index) : otherwise);
  };
  const Value x = a.value(0);
  const Value finite = select(compare(AluOp::kEqual, x, kInfinity), given(2, largest),
                              select(compare(AluOp::kEqual, x, -kInfinity), given(3, -largest), x));
  return select(compare(AluOp::kNotEqual, x, x), given(1, 0), finite);
}

Value heaviside(Arguments& a) {
  TORCH_CHECK(a.dtype(0) == a.dtype(1),
              "heaviside is not yet implemented for tensors with different dtypes.");
  const Value x = a.value(0);
  // 0 for NaN, as on the CPU.
  return select(compare(AluOp::kEqual, x, 0), a.value(1), compare(AluOp::kGreater, x, 0));
}

Value masked(Arguments& a) {
  if (a.dtype(1) != at::kBool) throw Refusal{"the mask is not of dtype bool"};
  // torch still accepts these, with a warning.
  if (a.overlaps_itself(0)) throw Refusal{"elements of the tensor share memory"};
  TORCH_CHECK(a.dimensions(2) == 0,
              "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
              a.dimensions(2), " dimension(s).");
  return select(a.value(1), a.value(2), a.value(0));
}

Value chosen(Arguments& a) {
  const bool mask = a.dtype(0) == at::kBool || a.dtype(0) == at::kByte;
  TORCH_CHECK(mask, "where expected condition to be a boolean tensor, but got a tensor with dtype ",
              a.dtype(0));
  return select(a.value(0), a.value(1), a.value(2));
}

/// A 0-dimensional float becomes infinite where the number does not fit, as on the CPU.
Value filled(Arguments& a) {
  const bool single = a.is_float() && a.dimensions(0) == 0;
  return single && !a.is_on_device(1) ? a.constant(a.cast_number(1)) : a.value(1);
}

/// pi of negative numbers, 0 of others.
Value angle(Arguments& a) {
  const Value x = a.value(0);
  const Value result = compare(AluOp::kLess, x, 0) * std::numbers::pi;
  return select(compare(AluOp::kNotEqual, x, x), x, result);
}

constexpr PointwiseRow kSelectionRows[] = {
    {"abs.out", kCommon, kComputed, magnitude, 0b1, Accepts::kNumbers},
    {"sign.out sgn.out", kCommon, kComputed, sign, 0b1},
    {"clamp.out", kCommon, kComputed, clamp, 0b111, Accepts::kNumbers, Numbers::kChecked},
    {"clamp.Tensor_out", kCommon, kComputed, clamp, 0b111, Accepts::kNumbers, Numbers::kCast},
    {"clamp_min.out", kCommon, kComputed, at_least, 0b11, Accepts::kNumbers, Numbers::kChecked},
    {"clamp_min.Tensor_out", kCommon, kComputed, at_least, 0b11, Accepts::kNumbers, Numbers::kCast},
    {"clamp_max.out", kCommon, kComputed, at_most, 0b11, Accepts::kNumbers, Numbers::kChecked},
    {"clamp_max.Tensor_out", kCommon, kComputed, at_most, 0b11, Accepts::kNumbers, Numbers::kCast},
    {"fmax.out", kCommon, kComputed, ignoring_nan<AluOp::kMaximum>, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"fmin.out", kCommon, kComputed, ignoring_nan<AluOp::kMinimum>, 0b11, Accepts::kAny,
     Numbers::kCast},
    {"copysign.out", kFloat, kComputed, with_sign, 0b11},
    {"nan_to_num.out", kCommon, kComputed, without_nan, 0b1},
    {"angle angle.out", kFloat, kComputed, angle, 0b1},
    {"heaviside.out", kCommon, kComputed, heaviside, 0b11},
    {"where.self where.self_out", kCommon, kComputed, chosen, 0b110, Accepts::kAny, Numbers::kWide,
     /*chooses=*/true},
    {"masked_fill_.Scalar masked_fill_.Tensor", kCommon, kSelf, masked, 0b1, Accepts::kAny,
     Numbers::kChecked},
    {"fill_.Scalar fill_.Tensor", kCommon, kSelf, filled, 0b1, Accepts::kAny, Numbers::kChecked},
    {"zero_", kCommon, kSelf, [](Arguments& a) { return a.constant(0); }, 0b1},
};

}  // namespace

std::span<const PointwiseRow> selection_rows() { return kSelectionRows; }

}  // namespace neuron_sim
