#include "device/memory/slot_allocator.h"

#include <algorithm>

namespace neuron_sim {
namespace {

constexpr int64_t kBuffers = 16;  // of a size, before larger free space is left to larger tiles

}  // namespace

int64_t SlotAllocator::place(int64_t bytes, const Lifetime& lifetime) {
  int64_t address = fresh(bytes);
  if (address < 0) address = freed(bytes, lifetime.first);
  if (address < 0) address = joined(bytes, lifetime.first);
  if (address >= 0) occupy(address, bytes, lifetime.last);
  return address;
}

void SlotAllocator::occupy(int64_t address, int64_t bytes, uint32_t last) {
  const auto [slot, is_new] = slots_.try_emplace(address, Slot{bytes, last});
  auto& of_size = by_size_[bytes];
  if (is_new) {
    of_size.insert({last, address});
    return;
  }
  auto entry = of_size.extract({slot->second.last, address});  // keeps its memory
  entry.value().first = slot->second.last = last;
  of_size.insert(std::move(entry));
}

SlotAllocator::Slots::iterator SlotAllocator::drop(Slots::iterator slot) {
  by_size_[slot->second.bytes].erase({slot->second.last, slot->first});
  return slots_.erase(slot);
}

/// Space that nothing has used yet.
int64_t SlotAllocator::fresh(int64_t bytes) {
  int64_t address = top_;
  for (auto taken = taken_.begin(); taken != taken_.end(); ++taken) {
    if (taken->first < address + bytes && address < taken->second) {
      address = rounded(taken->second);
    }
  }
  if (address + bytes > capacity_) return -1;
  top_ = address + bytes;
  return address;
}

/// The slot of this size that was freed first. While there are few of them, a larger
/// slot that was freed earlier, so that tiles of a new size do not wait for each other.
int64_t SlotAllocator::freed(int64_t bytes, uint32_t first) {
  std::pair<uint32_t, int64_t> oldest{first, -1};
  const auto end = reuse_ == SbufReuse::kLargerSpace && is_scarce(bytes)
                       ? by_size_.end()
                       : by_size_.upper_bound(bytes);
  for (auto size = by_size_.lower_bound(bytes); size != end; ++size) {
    if (size->second.empty() || size->second.begin()->first >= oldest.first) continue;
    oldest = *size->second.begin();
  }
  if (oldest.second < 0) return -1;
  const auto slot = slots_.find(oldest.second);
  return slot->second.bytes == bytes ? slot->first : join(slot, bytes);
}

bool SlotAllocator::is_scarce(int64_t bytes) {
  const auto count = static_cast<int64_t>(by_size_[bytes].size());
  return count < 2 || (count < kBuffers && count * bytes < capacity_ / 8);
}

/// Free neighbours that together are large enough; of all such runs the one freed first. What
/// remains of them becomes a separate slot.
int64_t SlotAllocator::joined(int64_t bytes, uint32_t first) {
  auto best = slots_.end();
  uint32_t best_last = first;
  for (auto begin = slots_.begin(); begin != slots_.end(); ++begin) {
    uint32_t last = 0;
    int64_t end = begin->first;
    for (auto slot = begin; slot != slots_.end() && slot->first == end; ++slot) {
      last = std::max(last, slot->second.last);
      end += slot->second.bytes;
      if (last >= best_last || end - begin->first >= bytes) break;
    }
    if (end - begin->first < bytes || last >= best_last) continue;
    best = begin;
    best_last = last;
  }
  return best == slots_.end() ? -1 : join(best, bytes);
}

int64_t SlotAllocator::join(Slots::iterator slot, int64_t bytes) {
  const int64_t address = slot->first;
  int64_t end = address;
  uint32_t last = 0;
  while (end - address < bytes) {
    last = std::max(last, slot->second.last);
    end += slot->second.bytes;
    slot = drop(slot);
  }
  if (end > address + bytes) occupy(address + bytes, end - address - bytes, last);
  return address;
}

}  // namespace neuron_sim
