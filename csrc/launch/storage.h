#pragma once
// Making, growing and replacing the storage of device tensors.

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <optional>

namespace neuron_sim {

/// Gives `storage` exactly `bytes` bytes; the common prefix keeps its contents. c10::Error when it
/// is not resizable, torch.OutOfMemoryError when it does not fit (leaving it unchanged).
void resize_storage(const c10::Storage& storage, size_t bytes);

/// Whether new memory is filled: torch.use_deterministic_algorithms() with
/// torch.utils.deterministic.fill_uninitialized_memory.
bool fills_uninitialized_memory();

/// A new tensor on `device` (the current one without an index); its memory is filled only in the
/// case above. torch.OutOfMemoryError when HBM is full.
at::Tensor uninitialised(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device,
                         std::optional<at::MemoryFormat> format = std::nullopt);
/// `tensor`, filled in that case: with NaN or the largest number everywhere. A diagnostic: it takes
/// no simulated time.
at::Tensor filled_if_wanted(at::Tensor tensor);

}  // namespace neuron_sim
