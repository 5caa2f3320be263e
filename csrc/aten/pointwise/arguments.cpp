#include <ATen/Dispatch.h>

#include <algorithm>
#include <limits>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

/// `scalar` as a number of that dtype; with `checked` a RuntimeError where it does not fit.
double as_dtype(const at::Scalar& scalar, at::ScalarType type, bool checked) {
  double result = 0;
  AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, type, "as_dtype", [&] {
    if (checked) {
      result = static_cast<double>(scalar.to<scalar_t>());
    } else if (scalar.isIntegral(/*includeBool=*/true)) {
      result = static_cast<double>(c10::convert<scalar_t>(scalar.toLong()));
    } else {
      result = static_cast<double>(c10::convert<scalar_t>(scalar.toDouble()));
    }
  });
  return result;
}

/// Whether all device tensors of the call are bool.
bool only_bools(const torch::jit::Stack& stack, size_t first) {
  return std::all_of(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end(),
                     [](const c10::IValue& argument) {
                       if (!argument.isTensor()) return true;
                       const at::Tensor& tensor = argument.toTensor();
                       return !tensor.defined() || !on_device(tensor) ||
                              tensor.scalar_type() == at::kBool;
                     });
}

}  // namespace

PointwiseArguments::PointwiseArguments(const c10::OperatorHandle& op,
                                       const torch::jit::Stack& stack, at::ScalarType computed,
                                       Numbers numbers, Expression& expression)
    : stack_(stack),
      first_(stack.size() - op.schema().arguments().size()),
      computed_(computed),
      numbers_(numbers),
      expression_(expression) {}

const c10::IValue& PointwiseArguments::at(size_t index) const { return stack_[first_ + index]; }

ElementValue PointwiseArguments::value(size_t index) {
  const c10::IValue& argument = at(index);
  if (!argument.isTensor()) return expression_.constant(number(index));
  at::Tensor tensor = argument.toTensor();
  if (!on_device(tensor)) return expression_.constant(number(index));
  // The chip has no 64-bit integers: they are rounded to fp32 where torch rounds them.
  if (is_float() && tensor.scalar_type() == at::kLong) tensor = tensor.to(at::kFloat);
  // A 0-dimensional tensor does not widen the dtype of the others: int8(-3) is uint8(253).
  const bool whole = c10::isIntegralType(computed_, /*includeBool=*/false);
  if (whole && c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false) &&
      c10::promoteTypes(tensor.scalar_type(), computed_) != computed_) {
    tensor = tensor.to(computed_);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].is_same(tensor)) return expression_.input(static_cast<int>(i));
  }
  tensors_.push_back(tensor);
  return expression_.input(static_cast<int>(tensors_.size()) - 1);
}

double PointwiseArguments::number(size_t index) const {
  const c10::IValue& argument = at(index);
  const at::Scalar scalar = argument.isTensor() ? argument.toTensor().item() : argument.toScalar();
  if (scalar.isComplex()) throw Refusal{"the chip has no complex numbers"};
  if (computed_ == at::kInt && only_bools(stack_, first_) &&
      scalar.isIntegral(/*includeBool=*/true)) {
    // torch compares them as int64: a number out of range of int32 stays outside 0 and 1.
    constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    return static_cast<double>(std::clamp(scalar.toLong(), kLowest, kLargest));
  }
  if (is_float() && numbers_ == Numbers::kWide) return scalar.toDouble();
  const bool whole = !is_float() && numbers_ == Numbers::kWide && !argument.isTensor();
  return as_dtype(scalar, computed_, whole || numbers_ == Numbers::kChecked);
}

double PointwiseArguments::cast_number(size_t index) const {
  const c10::IValue& argument = at(index);
  return as_dtype(argument.isTensor() ? argument.toTensor().item() : argument.toScalar(), computed_,
                  false);
}

int PointwiseArguments::side_of_range(size_t index) const {
  const c10::IValue& argument = at(index);
  if (is_float() || computed_ == at::kBool || argument.isTensor()) return 0;
  if (!argument.toScalar().isIntegral(/*includeBool=*/false)) return 0;
  const int64_t number = argument.toScalar().toLong();
  return AT_DISPATCH_INTEGRAL_TYPES(computed_, "side_of_range", [&] {
    using Limits = std::numeric_limits<scalar_t>;
    return static_cast<int>(number > int64_t{Limits::max()}) - (number < int64_t{Limits::min()});
  });
}

double PointwiseArguments::fp32_number(size_t index) const {
  return as_dtype(at(index).toScalar(), is_float() ? at::kFloat : computed_, true);
}

bool PointwiseArguments::flag(size_t index) const { return at(index).toBool(); }

bool PointwiseArguments::has(size_t index) const {
  if (first_ + index >= stack_.size()) return false;  // functional forms have no out
  const c10::IValue& argument = at(index);
  return !argument.isNone() && (!argument.isTensor() || argument.toTensor().defined());
}

bool PointwiseArguments::is_on_device(size_t index) const {
  return at(index).isTensor() && on_device(at(index).toTensor());
}

std::string_view PointwiseArguments::text(size_t index) const { return at(index).toStringView(); }

at::ScalarType PointwiseArguments::dtype(size_t index) const {
  const c10::IValue& argument = at(index);
  return argument.isTensor() ? argument.toTensor().scalar_type() : argument.toScalar().type();
}

}  // namespace neuron_sim
