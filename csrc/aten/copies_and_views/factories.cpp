// Uninitialised tensors, from which every other factory is built, and zeros without memory.

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/TensorOptions.h>
#include <torch/library.h>

#include "csrc/launch/storage.h"
#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

void check_options(std::optional<at::Layout> layout, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == at::kStrided,
                              "neuron_sim: tensors have layout torch.strided, not ",
                              c10::layout_or_default(layout));
  TORCH_CHECK(!c10::pinned_memory_or_default(pinned),
              "Only dense CPU tensors can be pinned; this one is on neuron_sim");
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                 std::optional<bool> pinned, std::optional<at::MemoryFormat> format) {
  check_options(layout, pinned);
  return uninitialised(size, c10::dtype_or_default(dtype), c10::device_or_default(device), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pinned) {
  check_options(layout, pinned);
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return filled_if_wanted(at::detail::empty_strided_generic(
      size, stride, c10::GetAllocator(kDeviceType), kKeys, c10::dtype_or_default(dtype)));
}

/// Gradients that are known to be zero, in forward mode: PyTorch's operators look at the key.
at::Tensor efficient_zeros(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout> layout, std::optional<at::Device> device,
                           std::optional<bool> pinned) {
  check_options(layout, pinned);
  const int index = checked_device(c10::device_or_default(device).index());
  at::native::ZeroTensorAllocator allocator({kDeviceType, static_cast<c10::DeviceIndex>(index)});
  return at::detail::empty_generic(size, &allocator, kKeys.add(c10::DispatchKey::ZeroTensor),
                                   c10::dtype_or_default(dtype), std::nullopt);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_efficientzerotensor", efficient_zeros);
  m.impl("empty.memory_format", empty);
  m.impl("empty_strided", empty_strided);
}

}  // namespace neuron_sim
