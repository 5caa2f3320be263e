// torch.autocast("neuron_sim"): the same lists of operators as CUDA's.

#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace neuron_sim {
namespace {

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

// The macros below expand to names of at::autocast and at.
namespace at::autocast {

// Without it every other operator fails inside autocast.
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define NEURON_SIM_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define NEURON_SIM_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define NEURON_SIM_FP32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define NEURON_SIM_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(NEURON_SIM_LOWER)
  AT_FORALL_FP32(NEURON_SIM_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(NEURON_SIM_FP32_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(NEURON_SIM_PROMOTE)
  m.impl("binary_cross_entropy", &neuron_sim::refuse_binary_cross_entropy);
}

}  // namespace at::autocast
