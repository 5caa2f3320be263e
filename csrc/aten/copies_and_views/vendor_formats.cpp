// TorchNeuron's answer to memory formats other than the contiguous one, with vendor_semantics().
// Registered only then: torch's own forms of these operators serve all other processes.

#include <ATen/core/Tensor.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/contiguous_native.h>
#include <torch/library.h>

#include "csrc/aten/dispatch/fallback.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/transfer.h"
#include "csrc/runtime/semantics.h"

namespace neuron_sim {
namespace {

/// TorchNeuron falls back to the CPU, whose result comes back contiguous; RuntimeError where
/// fallbacks are refused.
void note_format(const at::Tensor& self, at::MemoryFormat format, const char* op) {
  if (format == at::MemoryFormat::Contiguous || format == at::MemoryFormat::Preserve) return;
  const std::string reason =
      c10::str("Neuron tensors only support contiguous or preserve memory format, not ", format);
  check_fallback(op, reason);
  check_refused(op, reason);
  account_to_host(device_index(self), tensor_bytes(self), /*non_blocking=*/false);
  account_to_device(device_index(self), tensor_bytes(self), /*non_blocking=*/false);
  count_fallback(op, reason, {2 * tensor_bytes(self).count});
}

at::Tensor contiguous(const at::Tensor& self, at::MemoryFormat format) {
  note_format(self, format, "aten::contiguous");
  return at::native::contiguous(self, at::MemoryFormat::Contiguous);
}

at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                   std::optional<at::Layout> layout, std::optional<at::Device> device,
                   std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> format) {
  const bool is_other = format && *format != at::MemoryFormat::Preserve;
  if (is_other) note_format(self, *format, "aten::_to_copy");
  return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking,
                              is_other ? at::MemoryFormat::Contiguous : format);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  if (!vendor_semantics()) return;
  m.impl("contiguous", contiguous);
  m.impl("_to_copy", to_copy);
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  if (vendor_semantics()) m.impl("contiguous", contiguous);  // as torch's: the copy has gradients
}

}  // namespace neuron_sim
