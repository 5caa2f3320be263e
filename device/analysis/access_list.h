#pragma once
// Pending accesses of one hazard group in the order in which they came.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/operand/engine.h"
#include "device/operand/region.h"

namespace neuron_sim {

/// One pending access.
template <typename Stamp>
struct HistoryEntry {
  Region region;
  Slot slot = 0;
  Stamp stamp{};
  int64_t high = 0;  ///< region.high()
};

/// A queue in one piece of memory. Entries leave near the front as cheaply as they come at the
/// back: those in front of them move, into room that is used again. The bounds of exact entries lie
/// side by side too, so that one pass without branches answers what nearly always is a no.
template <typename Stamp>
class AccessList {
 public:
  using Entry = HistoryEntry<Stamp>;

  bool empty() const { return first_ == last_; }
  size_t size() const { return last_ - first_; }
  Entry* begin() { return entries_.data() + first_; }
  Entry* end() { return entries_.data() + last_; }
  const Entry* begin() const { return entries_.data() + first_; }
  const Entry* end() const { return entries_.data() + last_; }
  Entry& operator[](size_t index) { return entries_[first_ + index]; }

  /// Whether the bounds of an exact entry may be around bytes [low, high).
  bool may_have_around(int64_t low, int64_t high) const {
    const int32_t first = clamped(low), end = clamped(high);
    const int32_t *lows = bounds_.data(), *highs = lows + entries_.size();
    int32_t apart = -1;  // no branches: GCC makes vectors of this
    for (size_t i = first_; i < last_; ++i) {
      apart &= -static_cast<int32_t>((lows[i] > first) | (highs[i] < end));
    }
    return apart == 0;
  }

  void append(const Region& region, int64_t high, Slot slot, const Stamp& stamp) {
    if (last_ == entries_.size()) make_room();
    Entry& entry = entries_[last_++];
    // Member by member: the processor waits for members just changed before it copies the whole.
    const auto [partition, partitions, low, run, stride, count, exact] = region;
    entry.region = {partition, partitions, low, run, stride, count, exact};
    entry.slot = slot;
    entry.stamp = stamp;
    entry.high = high;
    note_bounds(entry);
  }

  /// Two entries become one with a region for both, in the place of the older one.
  void merge(Entry* older, Entry* newer) {
    // Neighbours may as well meet in the place of the newer one, which is nearer to the others.
    Entry* const kept = newer == older + 1 ? newer : older;
    Entry* const other = kept == older ? newer : older;
    kept->stamp.merge(other->stamp);
    const Region &a = older->region, &b = newer->region;  // below: bounding(a, b)
    const int32_t end = std::max(a.partition + a.partitions, b.partition + b.partitions);
    const int32_t partition = std::min(a.partition, b.partition);
    const int64_t low = std::min(a.low, b.low), high = std::max(older->high, newer->high);
    kept->region = {partition, end - partition, low, high - low, 0, 1, false};
    kept->high = high;
    note_bounds(*kept);
    erase(other);
  }

  template <typename Predicate>
  void erase_if(Predicate&& predicate) {
    Entry* kept = begin();
    for (Entry* entry = begin(); entry != end(); ++entry) {
      if (predicate(*entry)) continue;
      if (kept != entry) take(*kept, *entry);
      ++kept;
    }
    last_ = static_cast<size_t>(kept - entries_.data());
  }

  void clear() { first_ = last_ = 0; }

 private:
  void erase(Entry* entry) {
    if ((entry - begin()) * 2 < static_cast<ptrdiff_t>(size())) {
      for (; entry != begin(); --entry) take(*entry, *(entry - 1));
      ++first_;
      return;
    }
    for (--last_; entry != end(); ++entry) take(*entry, *(entry + 1));
  }
  void take(Entry& to, Entry& from) {
    to = std::move(from);
    note_bounds(to);
  }
  /// Keeps the order of any two numbers, but may make them equal.
  static int32_t clamped(int64_t byte) {
    constexpr int64_t kLimit = INT32_MAX;
    return static_cast<int32_t>(std::clamp(byte, -kLimit, kLimit));
  }
  void note_bounds(const Entry& entry) {
    const auto place = static_cast<size_t>(&entry - entries_.data());
    int32_t* const low = bounds_.data() + place;
    int32_t* const high = low + entries_.size();
    *high = INT32_MIN;
    if (!entry.region.exact) return;
    *low = clamped(entry.region.low);
    *high = clamped(entry.high);
  }
  /// Moves all to the front when that makes much room, else takes more memory.
  [[gnu::noinline]] void make_room() {
    constexpr size_t kLeast = 4;
    const size_t count = size();
    if (first_ > 0) std::move(begin(), end(), entries_.begin());
    if (first_ * 2 <= entries_.size()) {
      entries_.resize(std::max(kLeast, entries_.size() * 2));
      bounds_.resize(entries_.size() * 2);
    }
    first_ = 0;
    last_ = count;
    for (const Entry& entry : *this) note_bounds(entry);
  }

  std::vector<Entry> entries_;   // by place; those in [first_, last_) are in the list
  std::vector<int32_t> bounds_;  // by place: first bytes, then ends
  size_t first_ = 0, last_ = 0;
};

}  // namespace neuron_sim
