#include "python_bindings/core_module/tracing/memory_reserve.h"

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace neuron_sim::tracing {

std::atomic<void*> memory_reserve{nullptr};

namespace {

// nanobind's table of 300,000 objects grows by that much. Address space alone, until it is needed.
constexpr size_t kReserve = 16 << 20;

std::new_handler next_handler = nullptr;

void give_reserve() {
  if (void* const given = memory_reserve.exchange(nullptr)) {
    munmap(given, kReserve);
  } else if (next_handler != nullptr) {
    next_handler();
  } else {
    throw std::bad_alloc();
  }
}

}  // namespace

void install_memory_reserve() {
  next_handler = std::set_new_handler(give_reserve);
  require_memory_reserve();
}

void restore_memory_reserve() {
  void* const made = mmap(nullptr, kReserve, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  void* none = nullptr;
  if (!memory_reserve.compare_exchange_strong(none, made)) munmap(made, kReserve);
}

}  // namespace neuron_sim::tracing
