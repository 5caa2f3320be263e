#include "device/memory/hbm_heap.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

void HbmCounter::add(int64_t amount) {
  current += amount;
  added += amount;
  peak = std::max(peak, current);
}

void HbmCounter::remove(int64_t amount) {
  current -= amount;
  removed += amount;
}

HbmHeap::HbmHeap(Bytes capacity, Release release) : release_(std::move(release)) {
  require(capacity.count > 0 && capacity.count % kAlignment == 0,
          "the capacity of a heap is a positive multiple of its alignment");
  statistics_.limit = capacity;
  insert_free(0, {capacity.count, 0});
}

std::optional<int64_t> HbmHeap::allocate(Bytes bytes) {
  require(bytes.count > 0, "an allocation has at least one byte");
  if (bytes.count > statistics_.limit.count) {  // also keeps the rounding below from overflowing
    ++statistics_.failures;
    return std::nullopt;
  }
  const int64_t size = (bytes.count + kAlignment - 1) / kAlignment * kAlignment;
  std::optional<int64_t> offset;
  if (size <= kSmall && !cache_[size / kAlignment].empty()) {
    offset = cache_[size / kAlignment].back();
    cache_[size / kAlignment].pop_back();
  } else {
    offset = take(size);
  }
  if (!offset) {
    flush_cache();
    offset = take(size);
  }
  if (!offset) {
    ++statistics_.failures;
    return std::nullopt;
  }
  live_.emplace(*offset, LiveBlock{size, bytes.count});
  statistics_.blocks.add(1);
  statistics_.bytes.add(size);
  statistics_.requested_bytes.add(bytes.count);
  return offset;
}

void HbmHeap::free(int64_t offset) {
  const auto position = live_.find(offset);
  require(position != live_.end(), "a freed HBM block is live");
  const LiveBlock block = position->second;
  live_.erase(position);
  statistics_.blocks.remove(1);
  statistics_.bytes.remove(block.size);
  statistics_.requested_bytes.remove(block.requested);
  if (block.size <= kSmall && cache_[block.size / kAlignment].size() < kCachedPerClass) {
    cache_[block.size / kAlignment].push_back(offset);
    return;
  }
  give_back(offset, {block.size, block.size});
  if (resident_free_ > kRetained) release_pages();
}

Bytes HbmHeap::size_of(int64_t offset) const {
  const auto position = live_.find(offset);
  require(position != live_.end(), "an HBM block whose size is asked for is live");
  return {position->second.size};
}

void HbmHeap::release_free_memory() {
  flush_cache();
  release_pages();
}

void HbmHeap::reset_peak() {
  statistics_.blocks.peak = statistics_.blocks.current;
  statistics_.bytes.peak = statistics_.bytes.current;
  statistics_.requested_bytes.peak = statistics_.requested_bytes.current;
}

void HbmHeap::reset_accumulated() {
  for (HbmCounter* counter :
       {&statistics_.blocks, &statistics_.bytes, &statistics_.requested_bytes}) {
    counter->added = 0;
    counter->removed = 0;
  }
  statistics_.failures = 0;
}

/// Best fit, lowest offset among equals: the front of the block is used, so that resident pages
/// (which a block has at its front) are used again first.
std::optional<int64_t> HbmHeap::take(int64_t size) {
  const auto fit = free_by_size_.lower_bound({size, 0});
  if (fit == free_by_size_.end()) return std::nullopt;
  const int64_t offset = fit->second;
  // What is left keeps the memory of the two entries: without memory it would be lost.
  auto by_offset = free_by_offset_.extract(offset);
  auto by_size = free_by_size_.extract(fit);
  FreeBlock& block = by_offset.mapped();
  resident_free_ -= block.resident;
  if (block.size > size) {
    block = {block.size - size, std::max<int64_t>(0, block.resident - size)};
    resident_free_ += block.resident;
    by_offset.key() = offset + size;
    by_size.value() = {block.size, offset + size};
    free_by_offset_.insert(std::move(by_offset));
    free_by_size_.insert(std::move(by_size));
  }
  return offset;
}

/// Inserts a free block and merges it with its free neighbours.
void HbmHeap::give_back(int64_t offset, FreeBlock block) {
  auto next = free_by_offset_.lower_bound(offset);
  if (next != free_by_offset_.end() && next->first == offset + block.size) {
    const FreeBlock merged = remove_free(next++);
    block.size += merged.size;
    block.resident += merged.resident;
  }
  if (next != free_by_offset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second.size == offset) {
      offset = previous->first;
      const FreeBlock merged = remove_free(previous);
      block.size += merged.size;
      block.resident += merged.resident;
    }
  }
  insert_free(offset, block);
}

void HbmHeap::flush_cache() {
  for (size_t size_class = 0; size_class < cache_.size(); ++size_class) {
    const int64_t size = static_cast<int64_t>(size_class) * kAlignment;
    for (const int64_t offset : cache_[size_class]) give_back(offset, {size, size});
    cache_[size_class].clear();
  }
}

void HbmHeap::release_pages() {
  for (auto& [offset, block] : free_by_offset_) {
    if (block.resident == 0) continue;
    release_(offset, block.size);
    block.resident = 0;
  }
  resident_free_ = 0;
}

void HbmHeap::insert_free(int64_t offset, FreeBlock block) {
  free_by_offset_.emplace(offset, block);
  free_by_size_.emplace(block.size, offset);
  resident_free_ += block.resident;
}

HbmHeap::FreeBlock HbmHeap::remove_free(FreeMap::iterator position) {
  const FreeBlock block = position->second;
  free_by_size_.erase({block.size, position->first});
  free_by_offset_.erase(position);
  resident_free_ -= block.resident;
  return block;
}

}  // namespace neuron_sim
