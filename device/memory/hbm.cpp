#include "device/memory/hbm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <utility>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kSmallestRegion = int64_t{32} << 20;

/// Address space of 2 * bytes whose upper half is accessible; nullptr when the host refuses.
std::byte* map_halves(int64_t bytes) {
  void* base = mmap(nullptr, static_cast<size_t>(2 * bytes), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  std::byte* upper = static_cast<std::byte*>(base) + bytes;
  if (mprotect(upper, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE) != 0) {
    munmap(base, static_cast<size_t>(2 * bytes));
    return nullptr;
  }
  // Advice only: without huge pages, or with core dumps of the backing, everything still works.
  madvise(upper, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  madvise(base, static_cast<size_t>(2 * bytes), MADV_DONTDUMP);
  return static_cast<std::byte*>(base);
}

}  // namespace

Hbm::Hbm(int devices, Bytes per_device, std::string architecture)
    : architecture_(std::move(architecture)) {
  require(devices > 0 && per_device.count >= kHugePage, "HBM has a device and 2 MiB per device");
  reserve(devices, per_device);
  for (int device = 0; device < devices; ++device) {
    heaps_.push_back(std::make_unique<DeviceHeap>());
    heaps_.back()->heap =
        std::make_unique<HbmHeap>(Bytes{region_}, [this, device](int64_t offset, int64_t bytes) {
          release_range(device, offset, bytes);
        });
  }
}

Hbm::~Hbm() { munmap(lower_, static_cast<size_t>(2 * distance_)); }

void Hbm::reserve(int devices, Bytes per_device) {
  region_ = per_device.count / kHugePage * kHugePage;
  while ((lower_ = map_halves(region_ * devices)) == nullptr) {
    if (region_ / 2 < kSmallestRegion) {
      fail(text("HBM of ", devices, " devices: the host grants no address space for ", region_,
                " bytes each"),
           ErrorKind::kOutOfMemory);
    }
    region_ = region_ / 2 / kHugePage * kHugePage;
    std::fprintf(stderr,
                 "neuron_sim: the host does not grant the address space for the HBM of %d devices; "
                 "each has %lld MiB instead of %lld MiB\n",
                 devices, static_cast<long long>(region_ >> 20),
                 static_cast<long long>(per_device.count >> 20));
  }
  distance_ = region_ * devices;
}

Hbm::DeviceHeap& Hbm::heap_of(int device) const {
  require(device >= 0 && device < devices(), "the device index of an HBM access is in range");
  return *heaps_[static_cast<size_t>(device)];
}

void* Hbm::allocate(int device, Bytes bytes) {
  require(bytes.count >= 0, "an allocation has no negative size");
  DeviceHeap& target = heap_of(device);
  if (bytes.count == 0) return nullptr;
  std::unique_lock lock(target.mutex);
  const std::optional<int64_t> offset = target.heap->allocate(bytes);
  if (!offset) {
    const HbmStatistics now = target.heap->statistics();
    lock.unlock();
    fail_out_of_memory(device, bytes, now);
  }
  return lower_ + region_ * device + *offset;
}

void Hbm::fail_out_of_memory(int device, Bytes bytes, const HbmStatistics& now) const {
  fail(text("HBM out of memory: tried to allocate ", bytes.count, " bytes on device ", device,
            ", of whose ", now.limit.count, " bytes ", now.bytes.current,
            " are in use (architecture ", architecture_, ")"),
       ErrorKind::kOutOfMemory);
}

void Hbm::free(void* device_pointer) {
  if (device_pointer == nullptr) return;
  DeviceHeap& target = heap_of(device_of(device_pointer));
  const std::lock_guard lock(target.mutex);
  target.heap->free(offset_in_device(device_pointer));
}

std::byte* Hbm::backing(const void* device_pointer) const {
  require(owns(device_pointer), "a pointer whose backing is asked for is a device pointer");
  return lower_ + (static_cast<const std::byte*>(device_pointer) - lower_) + distance_;
}

bool Hbm::owns(const void* pointer) const noexcept {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto first = reinterpret_cast<uintptr_t>(lower_);
  return address >= first && address - first < static_cast<uintptr_t>(distance_);
}

int Hbm::device_of(const void* device_pointer) const {
  require(owns(device_pointer), "a pointer whose device is asked for is a device pointer");
  return static_cast<int>((static_cast<const std::byte*>(device_pointer) - lower_) / region_);
}

int64_t Hbm::offset_in_device(const void* device_pointer) const {
  return (static_cast<const std::byte*>(device_pointer) - lower_) % region_;
}

Bytes Hbm::size_of(const void* base) const {
  DeviceHeap& target = heap_of(device_of(base));
  const std::lock_guard lock(target.mutex);
  return target.heap->size_of(offset_in_device(base));
}

HbmStatistics Hbm::statistics(int device) const {
  DeviceHeap& target = heap_of(device);
  const std::lock_guard lock(target.mutex);
  return target.heap->statistics();
}

void Hbm::reset_peak(int device) {
  DeviceHeap& target = heap_of(device);
  const std::lock_guard lock(target.mutex);
  target.heap->reset_peak();
}

void Hbm::reset_accumulated(int device) {
  DeviceHeap& target = heap_of(device);
  const std::lock_guard lock(target.mutex);
  target.heap->reset_accumulated();
}

void Hbm::release_free_memory() {
  for (const auto& target : heaps_) {
    const std::lock_guard lock(target->mutex);
    target->heap->release_free_memory();
  }
}

/// Whole pages inside the range only: its neighbours may be live.
void Hbm::release_range(int device, int64_t offset, int64_t bytes) const {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t begin = (offset + page - 1) / page * page;
  const int64_t end = (offset + bytes) / page * page;
  if (begin >= end) return;
  madvise(lower_ + distance_ + region_ * device + begin, static_cast<size_t>(end - begin),
          MADV_DONTNEED);
}

void Hbm::lock_for_fork() {
  for (const auto& target : heaps_) target->mutex.lock();
}

void Hbm::unlock_after_fork() {
  for (const auto& target : heaps_) target->mutex.unlock();
}

}  // namespace neuron_sim
