#include "device/memory/caching_allocator.h"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

int64_t rounded(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

int64_t segment_size(int64_t size) {
  if (size <= CachingAllocator::kSmallBlock) return CachingAllocator::kSmallSegment;
  if (size < CachingAllocator::kLargeSegment / 2) return CachingAllocator::kLargeSegment;
  return rounded(size, CachingAllocator::kSegmentRounding);
}

std::string in_mebibytes(int64_t bytes) {
  const int64_t hundredths =
      bytes / (int64_t{1} << 20) * 100 + bytes % (int64_t{1} << 20) * 100 / (int64_t{1} << 20);
  return text(hundredths / 100, ".", hundredths % 100 < 10 ? "0" : "", hundredths % 100, " MiB");
}

}  // namespace

bool CachingAllocator::ByStreamAndSize::operator()(const Block* left, const Block* right) const {
  return std::tuple(left->stream, left->size, left->start) <
         std::tuple(right->stream, right->size, right->start);
}

CachingAllocator::CachingAllocator(Hbm& hbm, int device, Clock clock, EndOfStream end_of_stream)
    : hbm_(hbm),
      device_(device),
      clock_(std::move(clock)),
      end_of_stream_(std::move(end_of_stream)) {
  statistics_.limit = hbm_.capacity();
}

void* CachingAllocator::allocate(Bytes bytes, StreamId stream) {
  require(bytes.count >= 0, "an allocation has no negative size");
  if (bytes.count == 0) return nullptr;
  prepare_record();
  const std::lock_guard lock(mutex_);
  if (bytes.count > statistics_.limit.count) fail_out_of_memory(bytes.count, stream);
  const int64_t size = rounded(bytes.count, kRounding);
  reclaim(clock_.now());
  Block* block = take_recent(size, stream);
  if (block == nullptr) {
    settle();
    block = find_free(size, stream);
    if (block == nullptr) block = reserve(bytes.count, size, stream);
    try {
      split(block, size);
    } catch (...) {
      give_to_pool(block);
      throw;
    }
  }
  block->free = false;
  block->requested = bytes.count;
  statistics_.blocks.add(1);
  statistics_.bytes.add(block->size);
  statistics_.requested_bytes.add(bytes.count);
  count_active(*block, true);
  record(MemoryAction::kAllocate, block->start, bytes.count, stream);
  return block->start;
}

void CachingAllocator::prepare_record() const try {
  if (MemoryRecorder* const recorder = recorder_) recorder->prepare();
} catch (const std::bad_alloc&) {
  // As in record().
}

void CachingAllocator::record(MemoryAction action, const void* address, int64_t size,
                              StreamId stream) const {
  MemoryRecorder* const recorder = recorder_;
  if (recorder == nullptr) return;
  MemoryEvent event{action, address, size, stream, clock_.now()};
  if (action == MemoryAction::kOutOfMemory) {
    event.available = statistics_.limit.count - hbm_.statistics(device_).bytes.current;
  }
  try {
    recorder->add(device_, event);
  } catch (const std::bad_alloc&) {
    // The record lacks what the host has no memory for; the allocator goes on.
  }
}

std::unique_ptr<CachingAllocator::Block> CachingAllocator::made_block() {
  auto block = std::make_unique<Block>();
  Pool pool;
  block->in_pool = pool.extract(pool.insert(block.get()).first);
  Used used;
  block->in_used = used.extract(used.emplace(Picoseconds{}, block.get()));
  return block;
}

/// The block of a pool, taken out of it.
CachingAllocator::Block* CachingAllocator::taken(Pool& pool, Pool::iterator position) {
  Block* block = *position;
  block->in_pool = pool.extract(position);
  return block;
}

/// The block that was freed last, if it is one of that size.
CachingAllocator::Block* CachingAllocator::take_recent(int64_t size, StreamId stream) {
  if (recent_ == nullptr || recent_->size != size || recent_->stream != stream) return nullptr;
  return std::exchange(recent_, nullptr);
}

/// Puts the block that was freed last into its pool.
void CachingAllocator::settle() {
  if (recent_ != nullptr) give_to_pool(std::exchange(recent_, nullptr));
}

/// The smallest free block of the stream that is large enough, taken out of its pool.
CachingAllocator::Block* CachingAllocator::find_free(int64_t size, StreamId stream) {
  Pool& pool = pool_for(size);
  Block wanted;
  wanted.stream = stream;
  wanted.size = size;
  const auto found = pool.lower_bound(&wanted);
  if (found == pool.end() || (*found)->stream != stream) return nullptr;
  return taken(pool, found);
}

/// A new segment; when HBM is full, after everything that can be given back has been.
CachingAllocator::Block* CachingAllocator::reserve(int64_t bytes, int64_t size, StreamId stream) {
  Pool& pool = pool_for(size);
  if (Block* block = new_segment(segment_size(size), pool, stream)) return block;
  ++statistics_.retries;
  wait_for_users();
  if (Block* block = find_free(size, stream)) return block;
  release_segments();
  if (Block* block = new_segment(segment_size(size), pool, stream)) return block;
  // The last bytes of HBM may be fewer than a segment's.
  if (Block* block = new_segment(size, pool, stream)) return block;
  fail_out_of_memory(bytes, stream);
}

CachingAllocator::Block* CachingAllocator::new_segment(int64_t size, Pool& pool, StreamId stream) {
  std::unique_ptr<Block> block = made_block();
  void* start = nullptr;
  try {
    start = hbm_.allocate(device_, {size});
  } catch (const KernelError&) {
    return nullptr;
  }
  try {
    blocks_.try_emplace(start);
  } catch (const std::bad_alloc&) {
    hbm_.free(start);
    throw;
  }
  block->start = static_cast<std::byte*>(start);
  block->size = size;
  block->stream = stream;
  block->pool = &pool;
  statistics_.segments.add(1);
  statistics_.reserved_bytes.add(size);
  record(MemoryAction::kNewSegment, start, size, stream);
  return (blocks_.at(start) = std::move(block)).get();
}

/// Keeps the front of `block`; the rest is free, unless it is too little to be of use.
void CachingAllocator::split(Block* block, int64_t size) {
  const int64_t rest = block->size - size;
  if (size <= kSmallBlock ? rest < kRounding : rest <= kSmallBlock) return;
  std::unique_ptr<Block> made = made_block();
  std::unique_ptr<Block>& tail = blocks_[block->start + size];
  tail = std::move(made);
  tail->start = block->start + size;
  tail->size = rest;
  tail->stream = block->stream;
  tail->pool = block->pool;
  tail->previous = block;
  tail->next = block->next;
  if (tail->next != nullptr) tail->next->previous = tail.get();
  block->next = tail.get();
  block->size = size;
  tail->pool->insert(std::move(tail->in_pool));
}

void CachingAllocator::free(void* pointer) {
  if (pointer == nullptr) return;
  prepare_record();
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(pointer);
  require(found != blocks_.end() && !found->second->free, "a freed block is one that is in use");
  Block* block = found->second.get();
  statistics_.blocks.remove(1);
  statistics_.bytes.remove(block->size);
  statistics_.requested_bytes.remove(block->requested);
  record(MemoryAction::kFree, pointer, block->requested, block->stream);
  Picoseconds end{};
  for (const StreamId user : block->users) end = std::max(end, end_of_stream_(user));
  block->users.clear();
  if (end > clock_.now()) {
    block->in_used.key() = end;
    used_.insert(std::move(block->in_used));
    return;
  }
  count_active(*block, false);
  settle();
  block->free = true;
  recent_ = block;
}

void CachingAllocator::record_use(const void* pointer, StreamId stream) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(pointer);
  require(found != blocks_.end() && !found->second->free, "a used block is one that is in use");
  if (stream != found->second->stream) found->second->users.insert(stream);
}

/// Merges a free block with its free neighbours.
void CachingAllocator::give_to_pool(Block* block) {
  block->free = true;
  for (const bool forward : {true, false}) {
    Block* neighbour = forward ? block->next : block->previous;
    if (neighbour == nullptr || !neighbour->free || neighbour == recent_) continue;
    taken(*neighbour->pool, neighbour->pool->find(neighbour));
    if (!forward) std::swap(block, neighbour);
    merge(block, neighbour);
  }
  block->pool->insert(std::move(block->in_pool));
}

/// `neighbour` follows `block` and becomes a part of it.
void CachingAllocator::merge(Block* block, Block* neighbour) {
  block->size += neighbour->size;
  block->next = neighbour->next;
  if (block->next != nullptr) block->next->previous = block;
  blocks_.erase(neighbour->start);
}

/// Blocks that other streams have used until `now` or before.
void CachingAllocator::reclaim(Picoseconds now) {
  while (!used_.empty() && used_.begin()->first <= now) {
    Block* block = used_.begin()->second;
    block->in_used = used_.extract(used_.begin());
    count_active(*block, false);
    give_to_pool(block);
  }
}

void CachingAllocator::wait_for_users() {
  if (used_.empty()) return;
  const Picoseconds last = used_.rbegin()->first;
  clock_.wait_until(last);
  reclaim(last);
}

void CachingAllocator::release_segments() {
  for (Pool* pool : {&small_, &large_}) {
    for (auto position = pool->begin(); position != pool->end();) {
      const Block* block = *position;
      if (block->previous != nullptr || block->next != nullptr) {
        ++position;
        continue;
      }
      position = pool->erase(position);
      statistics_.segments.remove(1);
      statistics_.reserved_bytes.remove(block->size);
      std::byte* start = block->start;
      record(MemoryAction::kReleaseSegment, start, block->size, block->stream);
      blocks_.erase(start);
      hbm_.free(start);
    }
  }
}

void CachingAllocator::release_cached() {
  prepare_record();
  const std::lock_guard lock(mutex_);
  settle();
  wait_for_users();
  release_segments();
}

void CachingAllocator::count_active(const Block& block, bool active) {
  if (active) {
    statistics_.active_blocks.add(1);
    statistics_.active_bytes.add(block.size);
  } else {
    statistics_.active_blocks.remove(1);
    statistics_.active_bytes.remove(block.size);
    record(MemoryAction::kFreed, block.start, block.requested, block.stream);
  }
}

void CachingAllocator::fail_out_of_memory(int64_t bytes, StreamId stream) {
  ++statistics_.failures;
  record(MemoryAction::kOutOfMemory, nullptr, bytes, stream);
  const int64_t limit = statistics_.limit.count;
  const int64_t reserved = statistics_.reserved_bytes.current;
  const int64_t used = statistics_.bytes.current;
  const HbmStatistics now = hbm_.statistics(device_);
  fail(text("HBM out of memory: tried to allocate ", bytes, " bytes on device ", device_,
            ", which has ", in_mebibytes(limit), " (architecture ", hbm_.architecture(),
            "), of which ", in_mebibytes(limit - now.bytes.current), " are free; ",
            in_mebibytes(used), " in ", statistics_.blocks.current, " blocks are allocated and ",
            in_mebibytes(reserved - used), " are reserved but unallocated (at the peak ",
            in_mebibytes(statistics_.bytes.peak), " were allocated)"),
       ErrorKind::kOutOfMemory);
}

}  // namespace neuron_sim
