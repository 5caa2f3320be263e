#pragma once
// Dependencies by tile history: per hazard group the pending writes and reads with their exact
// access patterns. A stamp is a completion time (timeline) or an instance number (executor).

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/analysis/access_list.h"

namespace neuron_sim {

/// Access history of one hazard group. Reads and writes are kept separately: a read is compared
/// only with writes, a write with both. `Stamp` has `void merge(const Stamp&)`: whatever waits for
/// the merged entry waits for both.
///
/// Lists are bounded, by as much as the tiles of the group would have one by one: beyond the bound
/// two neighbouring entries of one slot merge into their bounding region: of writes those that add
/// the fewest bytes, of reads the oldest. That is conservative (an access may wait longer than it
/// must), and is counted.
template <typename Stamp>
class TileHistory {
 public:
  using Entry = HistoryEntry<Stamp>;
  static constexpr size_t kReadsOfTile = 12;
  static constexpr size_t kWritesOfTile = 64;

  explicit TileHistory(size_t tiles = 1)
      : maximum_reads_(kReadsOfTile * tiles), maximum_writes_(kWritesOfTile * tiles) {}

  /// Calls `edge(entry, is_write)` for every pending access that this one must wait for.
  template <typename Edge>
  void collect(const Region& region, bool reads, bool writes, Edge&& edge) const {
    collect(
        region, reads, writes, [](const Entry&, bool) { return true; }, edge);
  }
  /// Collects edges from the entries for which `matters(entry, is_write)`, which is called before
  /// the regions are compared.
  template <typename Matters, typename Edge>
  void collect(const Region& region, bool reads, bool writes, Matters&& matters,
               Edge&& edge) const {
    (void)reads;  // reads and writes both wait for pending writes
    for (const Entry& entry : writes_) {
      if (matters(entry, true) && overlap(entry.region, region)) edge(entry, true);
    }
    if (!writes) return;
    for (const Entry& entry : reads_) {
      if (matters(entry, false) && overlap(entry.region, region)) edge(entry, false);
    }
  }

  /// Adds the access; a write removes the entries it covers.
  void record(const Region& region, bool writes, Slot slot, const Stamp& stamp) {
    if (writes) {
      record_write(region, slot, stamp);
    } else if (!merge_repeated(region, slot, stamp)) {
      record_read(region, slot, stamp);
    }
  }

  AccessList<Stamp>& reads() { return reads_; }
  AccessList<Stamp>& writes() { return writes_; }
  const AccessList<Stamp>& reads() const { return reads_; }
  const AccessList<Stamp>& writes() const { return writes_; }
  void clear() {
    reads_.clear();
    writes_.clear();
  }
  /// Entries replaced by a bounding region so far.
  int64_t widened() const { return widened_; }

 private:
  void record_write(const Region& region, Slot slot, const Stamp& stamp) {
    if (writes_.size() == 1 && reads_.empty() && region.exact && writes_[0].region == region) {
      // It accumulates into what it has written.
      writes_[0].slot = slot;
      writes_[0].stamp = stamp;
      return;
    }
    const int64_t high = region.high();
    const auto covered = [&](const Entry& entry) {
      const bool within = (region.low <= entry.region.low) & (entry.high <= high);
      return within && covers(region, entry.region);
    };
    writes_.erase_if(covered);
    reads_.erase_if(covered);
    if (writes_.size() >= maximum_writes_) merge_cheapest(writes_, slot);
    writes_.append(region, high, slot, stamp);
  }

  /// Merges the read into the entry that follows the one read last, if it has the same region and
  /// slot, as reads in a loop do; returns whether it did. No earlier entry can cover the read: an
  /// exact one would have absorbed that entry, and widened ones absorb no exact region.
  bool merge_repeated(const Region& region, Slot slot, const Stamp& stamp) {
    if (next_read_ >= reads_.size()) next_read_ = 0;
    if (reads_.empty() || !region.exact) return false;
    Entry& entry = reads_[next_read_];
    if (entry.region.low != region.low || entry.slot != slot) return false;
    if (entry.region != region) return false;
    entry.stamp.merge(stamp);
    ++next_read_;
    return true;
  }

  void record_read(const Region& region, Slot slot, const Stamp& stamp) {
    const int64_t high = region.high();
    if (!region.exact || reads_.may_have_around(region.low, high)) {
      for (Entry& entry : reads_) {
        // One branch for the test that nearly always decides; && would be several.
        const bool around = (entry.slot == slot) & (entry.region.low <= region.low) &
                            (high <= entry.high) & (entry.region.exact | !region.exact);
        if (around && (covers(entry.region, region) || entry.region == region)) {
          entry.stamp.merge(stamp);
          next_read_ = static_cast<size_t>(&entry - reads_.begin()) + 1;
          return;
        }
      }
    }
    // Only writes wait for reads, which end in order: the oldest two cost little.
    if (reads_.size() >= maximum_reads_) merge_oldest(reads_, slot);
    reads_.append(region, high, slot, stamp);
  }

  /// What merging two entries costs: the bytes of their bounding region that neither has, then all
  /// of them, so that rows beside each other do not become one entry before they must. Computed
  /// without the region, as each new entry of a full list compares all neighbours.
  static std::pair<int64_t, int64_t> cost(const Entry& a, const Entry& b) {
    const Region &x = a.region, &y = b.region;
    const int64_t partitions = std::max(x.partition + x.partitions, y.partition + y.partitions) -
                               std::min(x.partition, y.partition);
    const int64_t bytes = partitions * (std::max(a.high, b.high) - std::min(x.low, y.low));
    return {bytes - x.partitions * (a.high - x.low) - y.partitions * (b.high - y.low), bytes};
  }

  void merge(AccessList<Stamp>& entries, Entry* older, Entry* newer) {
    entries.merge(older, newer);
    ++widened_;
  }

  /// The first entry of a slot from `entry` on.
  static Entry* next_of(AccessList<Stamp>& entries, Entry* entry, Slot slot) {
    while (entry != entries.end() && entry->slot != slot) ++entry;
    return entry;
  }

  /// Merges the two oldest entries of a slot.
  void merge_oldest(AccessList<Stamp>& entries, Slot slot) {
    Entry* const older = next_of(entries, entries.begin(), slot);
    if (older == entries.end()) return;
    Entry* const newer = next_of(entries, older + 1, slot);
    if (newer != entries.end()) merge(entries, older, newer);
  }

  /// Merges the two neighbours of a slot that cost least, the oldest of those.
  void merge_cheapest(AccessList<Stamp>& entries, Slot slot) {
    Entry *older = nullptr, *newer = nullptr;
    std::pair<int64_t, int64_t> least{};
    Entry* before = next_of(entries, entries.begin(), slot);
    while (before != entries.end()) {
      Entry* const entry = next_of(entries, before + 1, slot);
      if (entry == entries.end()) break;
      const auto candidate = cost(*before, *entry);
      if (newer == nullptr || candidate < least) {
        older = before;
        newer = entry;
        least = candidate;
      }
      before = entry;
    }
    if (newer != nullptr) merge(entries, older, newer);
  }

  size_t maximum_reads_, maximum_writes_;
  AccessList<Stamp> reads_, writes_;
  size_t next_read_ = 0;  // after the read that merged last: a guess
  int64_t widened_ = 0;
};

}  // namespace neuron_sim
