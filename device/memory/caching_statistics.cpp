// What a CachingAllocator tells about itself.

#include <algorithm>
#include <functional>
#include <set>

#include "device/memory/caching_allocator.h"

namespace neuron_sim {

MemoryStatistics CachingAllocator::statistics() {
  const std::lock_guard lock(mutex_);
  settle();
  MemoryStatistics result = statistics_;
  for (const Pool* pool : {&small_, &large_}) {
    for (const Block* block : *pool) {
      if (block->previous == nullptr && block->next == nullptr) continue;
      ++result.split_blocks;
      result.split_bytes += block->size;
    }
  }
  return result;
}

std::vector<MemorySegment> CachingAllocator::segments() {
  const std::lock_guard lock(mutex_);
  settle();
  std::set<const Block*> pending;
  for (const auto& [end, block] : used_) pending.insert(block);
  std::vector<MemorySegment> result;
  for (const auto& [start, first] : blocks_) {
    if (first->previous != nullptr) continue;
    MemorySegment segment{start, 0, first->stream, first->pool == &small_, {}};
    for (const Block* block = first.get(); block != nullptr; block = block->next) {
      const auto state = block->free                 ? MemoryBlock::State::kFree
                         : pending.count(block) != 0 ? MemoryBlock::State::kPendingFree
                                                     : MemoryBlock::State::kAllocated;
      segment.blocks.push_back(
          {block->start, block->size, block->free ? 0 : block->requested, state});
      segment.size += block->size;
    }
    result.push_back(std::move(segment));
  }
  std::sort(result.begin(), result.end(), [](const MemorySegment& a, const MemorySegment& b) {
    return std::less<>()(a.address, b.address);
  });
  return result;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  MemoryStatistics& s = statistics_;
  for (HbmCounter* counter : {&s.blocks, &s.active_blocks, &s.segments, &s.bytes, &s.active_bytes,
                              &s.reserved_bytes, &s.requested_bytes}) {
    counter->peak = counter->current;
  }
}

void CachingAllocator::reset_accumulated() {
  const std::lock_guard lock(mutex_);
  MemoryStatistics& s = statistics_;
  for (HbmCounter* counter : {&s.blocks, &s.active_blocks, &s.segments, &s.bytes, &s.active_bytes,
                              &s.reserved_bytes, &s.requested_bytes}) {
    counter->added = 0;
    counter->removed = 0;
  }
  s.retries = 0;
  s.failures = 0;
}

}  // namespace neuron_sim
