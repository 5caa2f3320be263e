#pragma once
// What a device's memory holds and what happens in it, for snapshots of the memory.

#include <cstdint>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

enum class MemoryAction {
  kAllocate,
  kFree,            ///< the program gives the block back
  kFreed,           ///< no other stream uses it any more
  kNewSegment,      ///< taken from HBM
  kReleaseSegment,  ///< given back to HBM
  kOutOfMemory
};

struct MemoryEvent {
  MemoryAction action;
  const void* address;  ///< device pointer; nullptr when memory is out
  int64_t size;         ///< bytes, as requested; of a segment all
  int64_t stream;
  Picoseconds time;       ///< of the host's simulated clock
  int64_t available = 0;  ///< bytes of HBM that are free; only when memory is out
};

/// Told what the allocators do.
class MemoryRecorder {
 public:
  virtual ~MemoryRecorder() = default;
  /// Before the allocator's lock is taken by this thread: the recorder may take other locks here.
  virtual void prepare() = 0;
  /// Under the allocator's lock, after prepare() by the same thread.
  virtual void add(int device, const MemoryEvent& event) = 0;
};

struct MemoryBlock {
  enum class State { kAllocated, kPendingFree, kFree };
  const void* address;
  int64_t size, requested;  ///< bytes; requested is 0 in a free block
  State state;
};

/// Memory that an allocator took from HBM: blocks without gaps, by address.
struct MemorySegment {
  const void* address;
  int64_t size, stream;
  bool small;  ///< for blocks of up to CachingAllocator::kSmallBlock
  std::vector<MemoryBlock> blocks;
};

}  // namespace neuron_sim
