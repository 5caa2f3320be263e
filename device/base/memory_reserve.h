#pragma once
// Memory for allocations whose failure would end the process: nanobind makes some in functions that
// may not throw, for converted strings and lists and for its table of objects.

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace neuron_sim {

/// Null where the reserve was given away.
inline std::atomic<void*> memory_reserve{nullptr};
// nanobind's table of 300,000 objects grows by that much. Address space alone, until it is needed.
inline constexpr size_t kMemoryReserve = 16 << 20;

/// Maps the reserve unless it is mapped. std::bad_alloc if there is no address space for it.
inline void require_memory_reserve() {
  if (memory_reserve.load(std::memory_order_relaxed) != nullptr) return;
  void* const made = mmap(nullptr, kMemoryReserve, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  void* none = nullptr;
  if (!memory_reserve.compare_exchange_strong(none, made)) munmap(made, kMemoryReserve);
}

/// From now on the first allocation of C++ that fails is tried again with the reserve.
inline void install_memory_reserve() {
  static std::new_handler next_handler = nullptr;
  next_handler = std::set_new_handler([] {
    if (void* const given = memory_reserve.exchange(nullptr)) {
      munmap(given, kMemoryReserve);
    } else if (next_handler != nullptr) {
      next_handler();
    } else {
      throw std::bad_alloc();
    }
  });
  require_memory_reserve();
}

}  // namespace neuron_sim
