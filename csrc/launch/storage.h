#pragma once
// Growing and replacing the storage of device tensors.

#include <c10/core/Storage.h>

#include <cstddef>

namespace neuron_sim {

/// Gives `storage` exactly `bytes` bytes; the common prefix keeps its contents. c10::Error when it
/// is not resizable, torch.OutOfMemoryError when it does not fit (leaving it unchanged).
void resize_storage(const c10::Storage& storage, size_t bytes);

/// Whether new memory is filled: torch.use_deterministic_algorithms() with
/// torch.utils.deterministic.fill_uninitialized_memory.
bool fills_uninitialized_memory();

}  // namespace neuron_sim
