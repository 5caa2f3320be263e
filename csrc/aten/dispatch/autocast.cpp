// torch.autocast("neuron_sim"): the same lists of operators as CUDA's.

#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <string>

#include "csrc/launch/captured_tensor.h"

namespace neuron_sim {
namespace {

using at::autocast::CastPolicy;

/// The widest dtype among tensors and lists of them, as torch's WrapFunction finds it.
at::ScalarType promoted(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments) {
  at::ScalarType type = at::autocast::get_lower_precision_fp_from_device_type(at::kPrivateUse1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.schema().arguments()[i].type()->kind() == c10::TypeKind::OptionalType) continue;
    c10::IValue value = arguments[i];
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      type = at::autocast::prioritize(type, tensor, at::kPrivateUse1);
    });
  }
  return type;
}

/// Casts the arguments, or sets the dtype of the result, then runs the operator without autocast.
void run_cast(CastPolicy policy, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
  const auto& declared = op.schema().arguments();
  const size_t first = stack->size() - declared.size();
  if (policy == CastPolicy::fp32_set_opt_dtype) {
    const bool eligible = at::autocast::is_eligible((*stack)[first].toTensor(), at::kPrivateUse1);
    for (size_t i = 0; eligible && i < declared.size(); ++i) {
      c10::IValue& value = (*stack)[first + i];
      if (declared[i].name() == "dtype" && value.isNone()) value = at::kFloat;
    }
    return op.callBoxed(stack);
  }
  at::ScalarType type = at::kFloat;
  if (policy == CastPolicy::lower_precision_fp) {
    type = at::autocast::get_lower_precision_fp_from_device_type(at::kPrivateUse1);
  } else if (policy == CastPolicy::promote) {
    type = promoted(op, torch::jit::last(*stack, declared.size()));
  }
  for (size_t i = first; i < stack->size(); ++i) {
    for_each_tensor((*stack)[i], [&](at::Tensor& tensor) {
      tensor = at::autocast::cached_cast(type, tensor, at::kPrivateUse1);
    });
  }
  op.callBoxed(stack);
}

template <CastPolicy policy>
void boxed_cast(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  run_cast(policy, op, stack);
}

/// `entry` is one of torch's lists: "mm", or "prod, dim_int" with an overload.
template <CastPolicy policy>
void add_cast(torch::Library& m, std::string entry) {
  if (const size_t comma = entry.find(", "); comma != entry.npos) entry.replace(comma, 2, ".");
  m.impl(entry.c_str(), torch::CppFunction::makeFromBoxedFunction<&boxed_cast<policy>>());
}

/// Refused as CUDA refuses it: logarithms of probabilities that were rounded to 0 or 1.
at::Tensor refuse_binary_cross_entropy(const at::Tensor&, const at::Tensor&,
                                       const std::optional<at::Tensor>&, int64_t) {
  TORCH_CHECK(
      false,
      "binary_cross_entropy and BCELoss are unsafe to autocast: in half precision a sigmoid "
      "is often exactly 0 or 1. Use binary_cross_entropy_with_logits or BCEWithLogitsLoss, "
      "or disable autocast around the loss.");
}

}  // namespace
}  // namespace neuron_sim

// KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE expands to names of at::autocast and at.
namespace at::autocast {

// Without it every other operator fails inside autocast.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

// Torch's own macros of these lists compile a wrapper per operator; these share one boxed kernel.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define NEURON_SIM_LOWER(...) neuron_sim::add_cast<CastPolicy::lower_precision_fp>(m, #__VA_ARGS__);
#define NEURON_SIM_FP32(...) neuron_sim::add_cast<CastPolicy::fp32>(m, #__VA_ARGS__);
#define NEURON_SIM_FP32_DTYPE(...) \
  neuron_sim::add_cast<CastPolicy::fp32_set_opt_dtype>(m, #__VA_ARGS__);
#define NEURON_SIM_PROMOTE(...) neuron_sim::add_cast<CastPolicy::promote>(m, #__VA_ARGS__);
  AT_FORALL_LOWER_PRECISION_FP(NEURON_SIM_LOWER)
  AT_FORALL_FP32(NEURON_SIM_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(NEURON_SIM_FP32_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(NEURON_SIM_PROMOTE)
  m.impl("binary_cross_entropy", &neuron_sim::refuse_binary_cross_entropy);
}

}  // namespace at::autocast
