#pragma once
// The HBM of all devices of this process: device pointers that the host cannot dereference, and the
// host memory that backs them at a constant distance.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/base/units.h"
#include "device/memory/hbm_heap.h"

namespace neuron_sim {

/// One anonymous reservation of twice the HBM of all devices. Device pointers lie in its lower
/// half, which is never accessible: host code that takes a device tensor for a host tensor faults
/// at once. The upper half, at a constant distance, is the backing; its pages exist from first use
/// until the block is freed. Private, not shared: a forked process writes into its own copy. Thread
/// safe.
class Hbm {
 public:
  /// Reserves `per_device` bytes for each of `devices` devices. When the host does not grant so
  /// much address space the HBM is halved, with a warning on stderr, until it fits. `architecture`
  /// is named in out-of-memory errors.
  Hbm(int devices, Bytes per_device, std::string architecture);
  ~Hbm();
  Hbm(const Hbm&) = delete;
  Hbm& operator=(const Hbm&) = delete;

  /// A device pointer to `bytes` bytes on `device`, aligned to 512 bytes, contents undefined.
  /// nullptr for zero bytes. KernelError (kOutOfMemory) when they do not fit.
  void* allocate(int device, Bytes bytes);
  /// Frees what allocate returned; nullptr is allowed, anything else is a SimulatorBug.
  void free(void* device_pointer);

  /// The host memory that backs a device pointer, also one into the middle of a block. SimulatorBug
  /// for a pointer that is not of this memory.
  std::byte* backing(const void* device_pointer) const;
  /// Whether the pointer lies in the lower half (allocated or not).
  bool owns(const void* pointer) const noexcept;
  /// The device whose memory the pointer lies in; SimulatorBug for a foreign pointer.
  int device_of(const void* device_pointer) const;
  /// The rounded size of the block that starts at `base`; SimulatorBug when none does.
  Bytes size_of(const void* base) const;

  /// The name given to the constructor.
  const std::string& architecture() const { return architecture_; }
  int devices() const { return static_cast<int>(heaps_.size()); }
  /// HBM of one device: the architecture's, or less if the host did not grant it.
  Bytes capacity() const { return {region_}; }
  HbmStatistics statistics(int device) const;
  void reset_peak(int device);
  void reset_accumulated(int device);
  /// Gives the host pages of free blocks of all devices back to the host.
  void release_free_memory();

  /// First byte of the lower half and the size of that half.
  const void* lower() const { return lower_; }
  Bytes lower_size() const { return {region_ * devices()}; }

  /// fork() may hit another thread inside allocate: take all locks before it and release them
  /// after it, on both sides.
  void lock_for_fork();
  void unlock_after_fork();

 private:
  struct DeviceHeap {
    mutable std::mutex mutex;
    std::unique_ptr<HbmHeap> heap;
  };
  DeviceHeap& heap_of(int device) const;
  int64_t offset_in_device(const void* device_pointer) const;
  [[noreturn]] void fail_out_of_memory(int device, Bytes bytes, const HbmStatistics& now) const;
  void reserve(int devices, Bytes per_device);
  void release_range(int device, int64_t offset, int64_t bytes) const;

  std::string architecture_;
  std::byte* lower_ = nullptr;
  int64_t region_ = 0;    ///< bytes per device
  int64_t distance_ = 0;  ///< from a device pointer to its backing
  std::vector<std::unique_ptr<DeviceHeap>> heaps_;
};

}  // namespace neuron_sim
