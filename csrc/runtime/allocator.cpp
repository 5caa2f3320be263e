// The device allocator of PyTorch: CachingAllocator with the statistics PyTorch asks for.

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstring>

#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "csrc/runtime/values.h"
#include "device/memory/write_watch.h"
#include "device/runtime/devices.h"
#include "device/runtime/timing_only.h"

namespace neuron_sim {
namespace {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr auto kAll = static_cast<size_t>(StatType::AGGREGATE);

void set_aggregate(StatArray& array, const HbmCounter& counter) {
  auto& aggregate = array[kAll];
  aggregate.current = counter.current;
  aggregate.peak = counter.peak;
  aggregate.allocated = counter.added;
  aggregate.freed = counter.removed;
}

void free_device_pointer(void* pointer) {
  if (pointer != nullptr) device_allocator(hbm().device_of(pointer)).free(pointer);
}

/// The deleter tells memory that was allocated while only time was wanted from other memory.
void free_without_values(void* pointer) { free_device_pointer(pointer); }

/// Allocates on the calling thread's current device and stream.
class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const int index = current_device();
    void* pointer = translate_errors([&] {
      return device_allocator(index).allocate(Bytes{static_cast<int64_t>(bytes)},
                                              current_stream(index));
    });
    return {pointer, pointer, timing_only() ? &free_without_values : &free_device_pointer,
            c10::Device(kDeviceType, static_cast<c10::DeviceIndex>(index))};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_pointer; }
  void copy_data(void* target, const void* source, size_t bytes) const override {
    if (bytes == 0 || timing_only()) return;
    translate_errors([&] {
      std::byte* const to = hbm().backing(target);
      std::memcpy(to, hbm().backing(source), bytes);
      note_write({to, to + bytes});
    });
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (int device = 0; device < visible_devices(); ++device) {
      translate_errors([&] { device_allocator(device).release_cached(); });
    }
    hbm().release_free_memory();
  }
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    const void* pointer = memory.get_context();  // the block, also of a tensor inside it
    if (pointer == nullptr) return;
    translate_errors(
        [&] { device_allocator(hbm().device_of(pointer)).record_use(pointer, stream.id()); });
  }

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const MemoryStatistics now = device_allocator(checked_device(device)).statistics();
    DeviceStats stats;
    set_aggregate(stats.allocation, now.blocks);
    set_aggregate(stats.active, now.active_blocks);
    set_aggregate(stats.segment, now.segments);
    set_aggregate(stats.allocated_bytes, now.bytes);
    set_aggregate(stats.reserved_bytes, now.reserved_bytes);
    set_aggregate(stats.active_bytes, now.active_bytes);
    set_aggregate(stats.requested_bytes, now.requested_bytes);
    stats.inactive_split[kAll].current = now.split_blocks;
    stats.inactive_split_bytes[kAll].current = now.split_bytes;
    stats.num_alloc_retries = now.retries;
    stats.num_ooms = now.failures;
    stats.num_device_alloc = now.segments.added;
    stats.num_device_free = now.segments.removed;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    device_allocator(checked_device(device)).reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    device_allocator(checked_device(device)).reset_peak();
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

bool has_values(const c10::StorageImpl& storage) {
  return storage.data_ptr().get_deleter() != &free_without_values;
}

void check_values(const c10::StorageImpl& storage) {
  TORCH_CHECK(has_values(storage),
              "neuron_sim: a tensor that was made inside torch.neuron_sim.timing_only() has sizes "
              "but no bytes: its values cannot be read.");
}

}  // namespace neuron_sim
