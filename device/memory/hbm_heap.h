#pragma once
// Which byte ranges of one device's HBM are in use: an allocator of offsets that never touches the
// memory it hands out.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/base/units.h"

namespace neuron_sim {

/// A quantity that rises and falls: blocks or bytes.
struct HbmCounter {
  int64_t current = 0;
  int64_t peak = 0;     ///< highest `current` since reset_peak
  int64_t added = 0;    ///< sum of all rises since reset_accumulated
  int64_t removed = 0;  ///< sum of all falls since reset_accumulated
  void add(int64_t amount);
  void remove(int64_t amount);
};

/// What one device's HBM has been used for.
struct HbmStatistics {
  Bytes limit{};               ///< capacity
  HbmCounter blocks;           ///< live allocations
  HbmCounter bytes;            ///< bytes of live allocations, rounded up to the alignment
  HbmCounter requested_bytes;  ///< the same before rounding
  int64_t failures = 0;        ///< requests that did not fit
};

/// Best-fit allocator with coalescing, and a cache of small blocks in front of it (an operator
/// allocates its output at each call). Not thread safe; Hbm holds the lock.
class HbmHeap {
 public:
  /// Every block starts at and is padded to a multiple of this (the vendor's DMA prefers 512).
  static constexpr int64_t kAlignment = 512;
  using Release = std::function<void(int64_t offset, int64_t bytes)>;

  /// A heap of `capacity` bytes. `release` is told which free ranges should give their host pages
  /// back; their contents are lost, which a free block allows.
  HbmHeap(Bytes capacity, Release release);

  /// The offset of a new block of at least `bytes` > 0 bytes; empty when nothing fits.
  std::optional<int64_t> allocate(Bytes bytes);
  /// Frees the block that starts at `offset`; SimulatorBug when none does.
  void free(int64_t offset);
  /// The rounded size of the live block at `offset`; SimulatorBug when there is none.
  Bytes size_of(int64_t offset) const;
  /// Returns cached small blocks to the heap and the host pages of all free blocks to the host.
  void release_free_memory();

  const HbmStatistics& statistics() const { return statistics_; }
  void reset_peak();
  void reset_accumulated();

 private:
  struct FreeBlock {
    int64_t size = 0;
    int64_t resident = 0;  ///< upper bound of bytes that have host pages
  };
  struct LiveBlock {
    int64_t size = 0;
    int64_t requested = 0;
  };
  using FreeMap = std::map<int64_t, FreeBlock>;

  static constexpr int64_t kSmall = 64 << 10;
  static constexpr size_t kCachedPerClass = 64;
  /// Host pages that free blocks may keep, so that a training step does not fault its activations
  /// in again each time.
  static constexpr int64_t kRetained = int64_t{512} << 20;

  std::optional<int64_t> take(int64_t size);
  void give_back(int64_t offset, FreeBlock block);
  void flush_cache();
  void release_pages();
  void insert_free(int64_t offset, FreeBlock block);
  FreeBlock remove_free(FreeMap::iterator position);

  Release release_;
  FreeMap free_by_offset_;
  std::set<std::pair<int64_t, int64_t>> free_by_size_;  ///< (size, offset)
  std::unordered_map<int64_t, LiveBlock> live_;
  std::array<std::vector<int64_t>, kSmall / kAlignment + 1> cache_;  ///< offsets by size class
  int64_t resident_free_ = 0;
  HbmStatistics statistics_;
};

}  // namespace neuron_sim
