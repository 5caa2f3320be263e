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
///
/// Time counts by the rows that compute. Profiles of trn2 (Jerry2423/kda-for-trainium at 90770f2a,
/// workspaces/{mamba,bmm_softmax}/benchmark.csv) show products of fewer rows at the cold clock
/// however busy the array is: mamba v2 is 99 % busy with products of one row, for 774 us where the
/// cold clock takes 765, and bmm_softmax v1 for 3,634 us with products of 64 rows, where it takes
/// 3,604. That half of the rows are half of the activity is inferred; of columns nothing is known.
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
  /// closed window no longer counts there. The first cycles count as busy, as busy_part() says.
  Picoseconds run(Picoseconds start, const PeTime& work, int64_t rows) {
    if (!gated_ || rows >= rows_) return run_busy(start, work);
    const PeTime busy{busy_part(work.cold, rows), busy_part(work.warm, rows)};
    const Picoseconds middle = run_busy(start, busy);
    const PeTime rest{work.cold - busy.cold, work.warm - busy.warm};
    const Picoseconds end = middle + duration(middle, rest);
    return end > window_end_ ? run_across(end, [](Picoseconds) {}) : end;
  }
  /// Marks time as busy without cycles (the array waits for its weights).
  void mark_busy(Picoseconds start, Picoseconds end) {
    if (gated_ && end > start) count_busy(start, end);
  }
  /// How much of a time in which these rows compute counts as busy: as much of it as the rows are
  /// of the array's.
  Picoseconds busy_part(Picoseconds time, int64_t rows) const {
    return rows >= rows_ ? time : Picoseconds{time.count * rows / rows_};
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
  Picoseconds run_busy(Picoseconds start, const PeTime& work) {
    const Picoseconds end = start + duration(start, work);
    if (!gated_) return end;
    if (end > window_end_) return run_busy_across(start, end);
    busy_ += end - std::max(start, window_end_ - window_);
    add_busy(start, end);
    return end;
  }
  Picoseconds run_busy_across(Picoseconds start, Picoseconds end);
  /// The end of work that would end at `end` if the clock did not change on the way. Calls `pass`
  /// with each boundary of windows before its window is closed.
  template <typename Pass>
  Picoseconds run_across(Picoseconds end, Pass pass) {
    while (end > window_end_) {
      const Picoseconds boundary = window_end_;
      const bool before = warm_;
      pass(boundary);
      close_window();
      if (warm_ != before) end = boundary + at_other_clock(end - boundary);
    }
    return end;
  }
  /// How long work takes at the clock of now that would have taken `time` at the other one.
  Picoseconds at_other_clock(Picoseconds time) const;
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
  int64_t rows_;  // of the array
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
