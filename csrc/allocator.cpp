// The device allocator of PyTorch: Hbm with the statistics PyTorch asks for.

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstring>

#include "csrc/errors.h"
#include "csrc/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

void set_aggregate(StatArray& array, const HbmCounter& counter) {
  auto& aggregate = array[static_cast<size_t>(StatType::AGGREGATE)];
  aggregate.current = counter.current;
  aggregate.peak = counter.peak;
  aggregate.allocated = counter.added;
  aggregate.freed = counter.removed;
}

void free_device_pointer(void* pointer) { hbm().free(pointer); }

/// Allocates on the calling thread's current device. Nothing is cached on top of Hbm, so reserved
/// and allocated memory are the same. Memory is safe to reuse at once: kernels have finished on the
/// host when their call returns, whatever their stream; streams only order simulated time.
class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const int index = current_device();
    void* pointer =
        translate_errors([&] { return hbm().allocate(index, Bytes{static_cast<int64_t>(bytes)}); });
    return {pointer, pointer, &free_device_pointer,
            c10::Device(kDeviceType, static_cast<c10::DeviceIndex>(index))};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_pointer; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    if (bytes == 0) return;
    translate_errors([&] { std::memcpy(hbm().backing(target), hbm().backing(source), bytes); });
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { hbm().release_free_memory(); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const HbmStatistics now = hbm().statistics(checked_device(device));
    DeviceStats stats;
    set_aggregate(stats.allocation, now.blocks);
    set_aggregate(stats.active, now.blocks);
    set_aggregate(stats.allocated_bytes, now.bytes);
    set_aggregate(stats.reserved_bytes, now.bytes);
    set_aggregate(stats.active_bytes, now.bytes);
    set_aggregate(stats.requested_bytes, now.requested_bytes);
    stats.num_ooms = now.failures;
    stats.num_device_alloc = now.blocks.added;
    stats.num_device_free = now.blocks.removed;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    hbm().reset_accumulated(checked_device(device));
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    hbm().reset_peak(checked_device(device));
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const HbmStatistics now = hbm().statistics(checked_device(device));
    return {static_cast<size_t>(now.limit.count - now.bytes.current),
            static_cast<size_t>(now.limit.count)};
  }
};

struct AllocatorRegistration {
  // Leaked: tensors of static storage duration are freed after this library's destructors.
  AllocatorRegistration() { c10::SetAllocator(kDeviceType, new DeviceAllocator); }
};
const AllocatorRegistration allocator_registration;

}  // namespace
}  // namespace neuron_sim
