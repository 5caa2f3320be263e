#include "csrc/aten/dispatch/index_arithmetic.h"

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/FunctionRef.h>

#include <optional>

namespace neuron_sim {
namespace {

/// Calls `visit` for every tensor in `value`: a tensor, a list, or a list of optional ones.
void visit_tensors(const c10::IValue& value, c10::function_ref<void(const at::Tensor&)> visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) visit(tensor);
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor && tensor->defined()) visit(*tensor);
    }
  }
}

bool is_scalar(const at::Tensor& tensor) {
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return true;
  return tensor.dim() == 0 && !c10::isComplexType(tensor.scalar_type());
}

/// Whether a NeuronCore lacks the dtype (except int64, which the host side computes).
bool is_foreign(at::ScalarType type) {
  return type == at::kDouble || type == at::kUInt64 || c10::isComplexType(type) ||
         c10::isQIntType(type) || type == at::kFloat8_e4m3fn || type == at::kFloat8_e4m3fnuz ||
         type == at::kFloat8_e5m2fnuz;
}

}  // namespace

void IndexTensors::add(const torch::jit::Stack& stack, size_t values) {
  for (size_t i = stack.size() - values; i < stack.size(); ++i) {
    visit_tensors(stack[i], [&](const at::Tensor& tensor) {
      ++count;
      if (tensor.layout() != at::kStrided) layout = tensor.layout();
      const at::ScalarType type = tensor.scalar_type();
      any_int64 |= type == at::kLong;
      all_scalars &= is_scalar(tensor);
      all_index_like &= type == at::kLong || type == at::kBool || is_scalar(tensor);
    });
  }
}

std::string reason_without_kernel(const c10::FunctionSchema& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.arguments();
  const size_t first = stack.size() - arguments.size();
  std::string reason;
  for (size_t i = 0; i < arguments.size() && reason.empty(); ++i) {
    visit_tensors(stack[first + i], [&](const at::Tensor& tensor) {
      if (tensor.layout() != at::kStrided) {
        reason = c10::str("argument '", arguments[i].name(), "' has layout ", tensor.layout());
      }
      if (!is_foreign(tensor.scalar_type())) return;
      reason = c10::str("argument '", arguments[i].name(), "' is ", tensor.scalar_type(),
                        ", a dtype that a NeuronCore does not have");
    });
  }
  return reason.empty() ? "it has no device kernel" : reason;
}

}  // namespace neuron_sim
