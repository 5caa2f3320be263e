#pragma once
// Dependencies by tile history: per hazard group the pending writes and reads with their exact
// access patterns. A stamp is a completion time (timeline) or an instance number (executor).

#include <algorithm>
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
  int64_t high = 0;  ///< region.high(), which decides most comparisons
};

/// Access history of one hazard group. Reads and writes are kept separately: a read is compared
/// only with writes, a write with both. `Stamp` has `void merge(const Stamp&)`: whatever waits for
/// the merged entry waits for both.
///
/// Lists are bounded: beyond the bound two neighbouring entries of one slot merge into their
/// bounding region: of writes those that add the fewest bytes, of reads the oldest. That is
/// conservative (an access may wait longer than it must), and is counted.
template <typename Stamp>
class TileHistory {
 public:
  using Entry = HistoryEntry<Stamp>;
  static constexpr size_t kMaximumReads = 12;
  static constexpr size_t kMaximumWrites = 64;

  /// Calls `edge(entry, is_write)` for every pending access that this one must wait for.
  template <typename Edge>
  void collect(const Region& region, bool reads, bool writes, Edge&& edge) const {
    collect(
        region, reads, writes, [](const Entry&, bool) { return true; }, edge);
  }
  /// The same for entries for which `matters(entry, is_write)`, which is called before the regions
  /// are compared.
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
    const int64_t high = region.high();
    if (writes) {
      const auto covered = [&](const Entry& entry) {
        const bool within = (region.low <= entry.region.low) & (entry.high <= high);
        return within && covers(region, entry.region);
      };
      std::erase_if(writes_, covered);
      std::erase_if(reads_, covered);
      add(writes_, kMaximumWrites, region, slot, stamp);
    } else {
      for (Entry& entry : reads_) {
        // One branch for the test that nearly always decides; && would be several.
        const bool around = (entry.slot == slot) & (entry.region.low <= region.low) &
                            (high <= entry.high) & (entry.region.exact | !region.exact);
        if (around && (covers(entry.region, region) || entry.region == region)) {
          entry.stamp.merge(stamp);
          return;
        }
      }
      add(reads_, kMaximumReads, region, slot, stamp);
    }
  }

  std::vector<Entry>& reads() { return reads_; }
  std::vector<Entry>& writes() { return writes_; }
  const std::vector<Entry>& reads() const { return reads_; }
  const std::vector<Entry>& writes() const { return writes_; }
  void clear() {
    reads_.clear();
    writes_.clear();
  }
  /// Entries replaced by a bounding region so far.
  int64_t widened() const { return widened_; }

 private:
  void add(std::vector<Entry>& entries, size_t maximum, const Region& region, Slot slot,
           const Stamp& stamp) {
    if (entries.size() >= maximum) {
      // Only writes wait for reads, which end in order: the oldest two cost little.
      merge_two(entries, slot, /*cheapest=*/maximum == kMaximumWrites);
    }
    entries.push_back({region, slot, stamp, region.high()});
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

  /// Merges the two oldest neighbours of a slot, of `cheapest` the oldest of those that cost least.
  void merge_two(std::vector<Entry>& entries, Slot slot, bool cheapest) {
    auto before = entries.end(), older = entries.end(), newer = entries.end();
    std::pair<int64_t, int64_t> least{};
    for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
      if (entry->slot != slot) continue;
      if (before != entries.end()) {
        const auto found = cheapest ? cost(*before, *entry) : least;
        if (newer == entries.end() || found < least) {
          older = before;
          newer = entry;
          least = found;
        }
        if (!cheapest) break;
      }
      before = entry;
    }
    if (newer == entries.end()) return;
    older->region = bounding(older->region, newer->region);
    older->high = older->region.high();
    older->stamp.merge(newer->stamp);
    entries.erase(newer);
    ++widened_;
  }

  std::vector<Entry> reads_, writes_;
  int64_t widened_ = 0;
};

}  // namespace neuron_sim
