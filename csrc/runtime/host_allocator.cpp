#include "csrc/runtime/host_allocator.h"

#include <ATen/core/CachingHostAllocator.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

constexpr size_t kPage = 4096;

/// Page-aligned host memory that is known to be pinned. The simulated host link reads any host
/// memory alike, so pinning changes no time; programs that pin memory run unchanged.
class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* target, const void* source, size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
  bool record_event(void*, void*, c10::Stream) override { return true; }
  void empty_cache() override {}
  at::HostStats get_stats() override;
  void reset_accumulated_stats() override;
  void reset_peak_stats() override;

  void release(void* pointer);
  bool owns(const void* pointer);

 private:
  std::mutex mutex_;
  std::map<uintptr_t, size_t> live_;  ///< start -> bytes
  at::HostStats statistics_;
};

PinnedAllocator& pinned_allocator() {
  static auto* const allocator = new PinnedAllocator;  // leaked, see allocator.cpp
  return *allocator;
}

void release_pinned(void* pointer) { pinned_allocator().release(pointer); }

c10::DataPtr PinnedAllocator::allocate(size_t bytes) {
  if (bytes == 0) return {nullptr, nullptr, &release_pinned, at::kCPU};
  void* pointer = nullptr;
  TORCH_CHECK(posix_memalign(&pointer, kPage, bytes) == 0, "neuron_sim: no host memory for ", bytes,
              " bytes of pinned memory");
  const std::lock_guard lock(mutex_);
  live_.emplace(reinterpret_cast<uintptr_t>(pointer), bytes);
  statistics_.active_requests.increase(1);
  statistics_.active_bytes.increase(bytes);
  statistics_.allocations.increase(1);
  statistics_.allocated_bytes.increase(bytes);
  ++statistics_.num_host_alloc;
  return {pointer, pointer, &release_pinned, at::kCPU};
}

c10::DeleterFnPtr PinnedAllocator::raw_deleter() const { return &release_pinned; }

void PinnedAllocator::release(void* pointer) {
  if (pointer == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    const auto block = live_.find(reinterpret_cast<uintptr_t>(pointer));
    statistics_.active_requests.decrease(1);
    statistics_.active_bytes.decrease(block->second);
    statistics_.allocations.decrease(1);
    statistics_.allocated_bytes.decrease(block->second);
    ++statistics_.num_host_free;
    live_.erase(block);
  }
  std::free(pointer);
}

bool PinnedAllocator::owns(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const std::lock_guard lock(mutex_);
  const auto next = live_.upper_bound(address);
  if (next == live_.begin()) return false;
  const auto& [start, bytes] = *std::prev(next);
  return address - start < bytes;
}

at::HostStats PinnedAllocator::get_stats() {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void PinnedAllocator::reset_accumulated_stats() {
  const std::lock_guard lock(mutex_);
  for (auto* stat : {&statistics_.active_requests, &statistics_.active_bytes,
                     &statistics_.allocations, &statistics_.allocated_bytes}) {
    stat->reset_accumulated();
  }
  statistics_.num_host_alloc = 0;
  statistics_.num_host_free = 0;
}

void PinnedAllocator::reset_peak_stats() {
  const std::lock_guard lock(mutex_);
  for (auto* stat : {&statistics_.active_requests, &statistics_.active_bytes,
                     &statistics_.allocations, &statistics_.allocated_bytes}) {
    stat->reset_peak();
  }
}

struct HostAllocatorRegistration {
  HostAllocatorRegistration() { at::setHostAllocator(kDeviceType, &pinned_allocator()); }
};
const HostAllocatorRegistration host_allocator_registration;

}  // namespace

bool is_pinned(const void* pointer) { return pinned_allocator().owns(pointer); }

}  // namespace neuron_sim
