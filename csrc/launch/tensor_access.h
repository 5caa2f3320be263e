#pragma once
// How kernels reach the bytes of a device tensor. Never dereference `tensor.data_ptr()`: a device
// pointer faults on the host.

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "csrc/runtime/export.h"
#include "device/base/units.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {

/// Whether the tensor lives on a neuron_sim device.
inline bool on_device(const at::Tensor& tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

/// Host memory that backs the first element of a device tensor (its storage offset included).
/// nullptr for a tensor without elements. c10::Error when the tensor is not on the device. Callers
/// that write there must call note_write() afterwards (device/memory/write_watch.h).
NEURON_SIM_TORCH_API std::byte* backing(const at::Tensor& tensor);

/// Copies the memory that a lazy clone (torch._lazy_clone) shares, so that a write does not reach
/// the original. Call it before backing() of a tensor that is written.
inline void materialize(const at::Tensor& tensor) {
  tensor.storage().unsafeGetStorageImpl()->mutable_data();
}

/// Index of the device the tensor lives on; c10::Error when it is not on a neuron_sim device.
NEURON_SIM_TORCH_API int device_index(const at::Tensor& tensor);

/// The NeuronCore dtype of a torch dtype. KernelError (kType) for those the chip lacks: 64-bit and
/// complex types, and float8_e4m3fn, whose range differs from the chip's e4m3.
NEURON_SIM_TORCH_API Dtype dtype_of(at::ScalarType type);

/// Bytes of the elements of a tensor (not of its storage).
inline Bytes tensor_bytes(const at::Tensor& tensor) {
  return {tensor.numel() * static_cast<int64_t>(tensor.element_size())};
}

/// A CPU storage over the host memory that backs a device storage, which it keeps alive. If a CPU
/// kernel resizes it, it gets its own memory. Where the kernel only reads, memory that copies on
/// write stays shared.
c10::Storage host_storage(const c10::Storage& device_storage, bool only_read = false);
/// A CPU tensor over `storage` (made by host_storage) with sizes, strides, offset, dtype and
/// conjugate and negative bits of `tensor`.
at::Tensor host_tensor(const at::Tensor& tensor, c10::Storage storage);
/// A CPU tensor over the tensor's own storage; a CPU tensor is returned unchanged.
at::Tensor host_tensor(const at::Tensor& tensor, bool only_read = false);

}  // namespace neuron_sim
