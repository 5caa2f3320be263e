#include "csrc/aten/device_operator.h"
#include "csrc/aten/pointwise/operator_table.h"
#include "csrc/tensor_access.h"

namespace neuron_sim {

PointwiseArguments::PointwiseArguments(const c10::OperatorHandle& op,
                                       const torch::jit::Stack& stack, at::ScalarType computed,
                                       Expression& expression)
    : stack_(stack),
      first_(stack.size() - op.schema().arguments().size()),
      computed_(computed),
      expression_(expression) {}

const c10::IValue& PointwiseArguments::at(size_t index) const { return stack_[first_ + index]; }

ElementValue PointwiseArguments::value(size_t index) {
  const c10::IValue& argument = at(index);
  if (!argument.isTensor()) return expression_.constant(number(index));
  at::Tensor tensor = argument.toTensor();
  if (!on_device(tensor)) return expression_.constant(number(index));
  // The chip has no 64-bit integers: they are rounded to fp32 where torch rounds them.
  if (is_float() && tensor.scalar_type() == at::kLong) tensor = tensor.to(at::kFloat);
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
  if (!is_float() && scalar.isIntegral(/*includeBool=*/true)) {
    const int64_t value = scalar.toLong();
    // 32 bits hold it, or wrap it as torch's narrower integers do.
    return static_cast<double>(static_cast<int32_t>(value));
  }
  return scalar.toDouble();
}

bool PointwiseArguments::flag(size_t index) const { return at(index).toBool(); }

bool PointwiseArguments::has(size_t index) const {
  const c10::IValue& argument = at(index);
  return !argument.isNone() && (!argument.isTensor() || argument.toTensor().defined());
}

std::string_view PointwiseArguments::text(size_t index) const { return at(index).toStringView(); }

at::ScalarType PointwiseArguments::dtype(size_t index) const {
  const c10::IValue& argument = at(index);
  return argument.isTensor() ? argument.toTensor().scalar_type() : argument.toScalar().type();
}

}  // namespace neuron_sim
