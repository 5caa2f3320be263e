#pragma once
// Memory for allocations whose failure would end the process: nanobind makes some in functions that
// may not throw, for converted strings and lists and for its table of objects.

#include <atomic>

namespace neuron_sim::tracing {

/// Null where the reserve was given away.
extern std::atomic<void*> memory_reserve;

/// From now on the first allocation of C++ that fails is tried again with the reserve.
void install_memory_reserve();
/// Takes the reserve back. std::bad_alloc where the host does not have it.
void restore_memory_reserve();

/// std::bad_alloc instead of a call that would have no reserve.
inline void require_memory_reserve() {
  if (memory_reserve.load(std::memory_order_relaxed) == nullptr) restore_memory_reserve();
}

}  // namespace neuron_sim::tracing
