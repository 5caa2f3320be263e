#pragma once
// Clock gating of the PE array: it runs at half speed until it has been busy for a while.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/arch/architecture.h"
#include "device/base/units.h"

namespace neuron_sim {

/// How long the same cycles take at either clock.
struct PeTime {
  Picoseconds cold{}, warm{};
  Picoseconds at(bool is_warm) const { return is_warm ? warm : cold; }
};

/// Free-running windows (3413.3 ns on trn2, measured: facts.json v3-pe-clock-gate). At each
/// boundary the busy share of the window just closed decides: cold becomes warm at gate_up or
/// more, warm becomes cold below gate_down. Windows begin at `phase` + k windows for every integer
/// k; time before the program is idle.
class PeClock {
 public:
  PeClock(const Architecture& architecture, bool starts_warm, Picoseconds phase = {});

  /// Cycles at both clocks; computed once for many instances.
  PeTime time_of(double cycles) const {
    return {architecture_.clocks.tensor_cold.duration(cycles),
            architecture_.clocks.tensor.duration(cycles)};
  }
  /// End of work that starts at `start`; the part after a boundary runs at the new clock. Calls
  /// come in time order, but for a start shortly before the last time asked for: what lies in a
  /// closed window no longer counts there. [start, end) counts as busy.
  Picoseconds run(Picoseconds start, const PeTime& work) {
    const Picoseconds end = start + duration(start, work);
    if (!gated_) return end;
    if (end > window_end_) return run_across(start, end);
    busy_ += end - std::max(start, window_end_ - window_);
    add_busy(start, end);
    return end;
  }
  /// Marks time as busy without cycles (the array waits for its weights).
  void mark_busy(Picoseconds start, Picoseconds end) {
    if (gated_ && end > start) count_busy(start, end);
  }
  /// Duration at the clock valid at `time`.
  Picoseconds duration(Picoseconds time, const PeTime& work) { return work.at(warm(time)); }
  bool warm(Picoseconds time) {
    if (time >= window_end_) advance(time);
    return warm_;
  }

  bool is_warm_now() const { return warm_; }
  /// Keeps no busy times but the last one, which is all that running needs: then recent(),
  /// settled_since() and shift() must not be called.
  void keep_no_history() { keeps_history_ = false; }
  /// End of the latest busy time; 0 at the start and without gating.
  Picoseconds busy_until() const {
    return intervals_.empty() ? Picoseconds{} : intervals_.back().end;
  }
  /// The busy times of the last window's length, relative to busy_until(). Together with the
  /// clock's state they decide what it does next, wherever the windows begin.
  void recent(std::vector<int64_t>& edges) const;
  /// Whether the clock has kept its state since one window before `time`, and would have kept it
  /// wherever the windows had begun.
  bool settled_since(Picoseconds time);
  /// Stands as if the work of the last window's length had gone on periodically for `by`.
  void shift(Picoseconds by);

 private:
  struct Interval {
    Picoseconds start, end;
    Picoseconds earlier;  // busy time of all earlier intervals
  };
  // Busy times kept before old ones are checked and dropped.
  static constexpr size_t kMaximumIntervals = 1024;
  Picoseconds edge(size_t index) const {
    return index % 2 == 0 ? intervals_[index / 2].start : intervals_[index / 2].end;
  }
  size_t first_edge_after(Picoseconds time) const;
  bool keeps(Picoseconds busy) const { return warm_ ? busy >= least_warm_ : busy < least_up_; }
  void advance(Picoseconds time);
  void count_busy(Picoseconds start, Picoseconds end);
  void close_window();
  /// The rest of run(): work that would end at `end` if the clock did not change on the way.
  Picoseconds run_across(Picoseconds start, Picoseconds end);
  void add_busy(Picoseconds start, Picoseconds end) {
    if (end <= start) return;
    Picoseconds busy{};
    if (!intervals_.empty()) {
      Interval& last = intervals_.back();
      if (start <= last.end) {
        last.end = std::max(last.end, end);
        return;
      }
      if (!keeps_history_) {
        last = {start, end, {}};
        return;
      }
      if (intervals_.size() >= kMaximumIntervals) check_and_forget();
      busy = intervals_.back().earlier + (intervals_.back().end - intervals_.back().start);
    }
    intervals_.push_back({start, end, busy});
  }
  void check_and_forget();
  void check_spans();
  void forget_old();
  class BusyBefore;

  const Architecture& architecture_;
  bool gated_;
  bool keeps_history_ = true;
  bool warm_;
  Picoseconds window_;
  Picoseconds least_warm_, least_up_;  // busy time per window that keeps it warm, that warms it
  Picoseconds phase_{};                // in [0, window)
  Picoseconds window_end_{};           // without gating the end of time
  Picoseconds busy_{};                 // within the open window
  std::vector<Interval> intervals_;  // in order, apart; at least those of the last window's length
  Picoseconds checked_{};            // spans of a window's length that end later are unchecked
  Picoseconds unsettled_until_{-1};  // no later span would change the clock
};

}  // namespace neuron_sim
