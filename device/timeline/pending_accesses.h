#pragma once
// The pending accesses of a hazard group, and whom they concern no more.

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/analysis/tile_history.h"
#include "device/base/units.h"
#include "device/operand/engine.h"
#include "device/timeline/engines/semaphores.h"

namespace neuron_sim {

/// Completion time of pending accesses; what waits for a merged entry waits for the later one.
struct Completion {
  Picoseconds time{};
  void merge(const Completion& other) { time = std::max(time, other.time); }
};

/// What an instance waits for because of the bytes it accesses. In order on one engine, though not
/// on its queue, only a read after a write waits, and TensorE accumulates in PSUM without a wait.
///
/// Whoever has waited for all that is pending, or never waits for it, has settled it. Times that
/// engines have waited for never go back, so it stays settled until somebody accesses the bytes:
/// nearly all instances of a loop find nothing else. `own` is who completes the access, the engine
/// of the instance or its queue.
class PendingAccesses {
 public:
  /// `tiles`: how many the hazard group has.
  explicit PendingAccesses(size_t tiles = 1) : history_(tiles) {}

  bool is_settled(bool writes, Slot own) const {
    return ((settled_writes_ & (settled_reads_ | (writes ? 0U : ~0U))) >> own & 1U) != 0;
  }

  /// Adds what an access waits for; its engine then waits for all of it (Semaphores::start).
  void gather(const Region& region, bool reads, bool writes, Slot own, const Semaphores& semaphores,
              Waits& waits) {
    std::array<int64_t, 2> open{};  // reads, writes that stay unsettled
    const auto delays = [&](const HistoryEntry<Completion>& entry, bool is_write) {
      const bool in_order = entry.slot == own && !is_queue(own);
      if (in_order && (!is_write || own == kTensor)) return false;
      const bool later = !semaphores.known(engine_of(own), entry.slot, entry.stamp.time);
      open[is_write ? 1 : 0] += later ? 1 : 0;
      return later && (reads || !in_order);
    };
    history_.collect(region, reads, writes, delays,
                     [&](const HistoryEntry<Completion>& entry, bool is_write) {
                       --open[is_write ? 1 : 0];
                       waits.need(entry.slot, entry.stamp.time);
                     });
    if (open[1] == 0) settled_writes_ |= 1U << own;
    if (writes && open[0] == 0) settled_reads_ |= 1U << own;
  }

  /// Adds an access that is pending until `done`.
  void record(const Region& region, bool writes, Slot own, Picoseconds done) {
    history_.record(region, writes, own, {done});
    if (writes) {
      settled_writes_ &= own == kTensor ? 1U << own : 0U;
    } else {
      settled_reads_ &= is_queue(own) ? 0U : 1U << own;
    }
  }

  /// The entries, whose times may be moved: then nobody has settled them.
  TileHistory<Completion>& moved_history() {
    settled_writes_ = settled_reads_ = 0;
    return history_;
  }
  const TileHistory<Completion>& history() const { return history_; }

 private:
  static constexpr Slot kTensor = slot_of(EngineKind::kTensor);

  TileHistory<Completion> history_;
  uint32_t settled_writes_ = 0, settled_reads_ = 0;  // one bit for each slot
};

}  // namespace neuron_sim
