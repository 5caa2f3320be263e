// torch.autocast("neuron_sim"): the same lists of operators as CUDA's.

#include <ATen/autocast_mode.h>
#include <torch/library.h>

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
  AT_FORALL_PROMOTE(NEURON_SIM_PROMOTE)
}

}  // namespace at::autocast
