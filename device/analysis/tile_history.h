#pragma once
// Dependencies by tile history: per hazard group the pending writes and reads with their exact
// access patterns. A stamp is a completion time (timeline) or an instance number (executor).

#include <algorithm>
#include <cstdint>
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
/// Lists are bounded: beyond the bound the two oldest entries of one slot merge into their bounding
/// region. That is conservative (an access may wait longer than it must), and is counted.
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
      const auto older = std::find_if(entries.begin(), entries.end(),
                                      [&](const Entry& e) { return e.slot == slot; });
      const auto newer = older == entries.end()
                             ? older
                             : std::find_if(older + 1, entries.end(),
                                            [&](const Entry& e) { return e.slot == slot; });
      if (newer != entries.end()) {
        older->region = bounding(older->region, newer->region);
        older->high = older->region.high();
        older->stamp.merge(newer->stamp);
        entries.erase(newer);
        ++widened_;
      }
    }
    entries.push_back({region, slot, stamp, region.high()});
  }

  std::vector<Entry> reads_, writes_;
  int64_t widened_ = 0;
};

}  // namespace neuron_sim
