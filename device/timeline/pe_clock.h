#pragma once
// Clock gating of the PE array: it runs at half speed until it has been busy for a while.

#include <cstdint>
#include <algorithm>
#include <deque>

#include "device/arch/architecture.h"
#include "device/base/units.h"

namespace neuron_sim {

/// Free-running windows (3413.3 ns on trn2, measured: facts.json v3-pe-clock-gate). At each
/// boundary the busy share of the window just closed decides: cold becomes warm at gate_up or
/// more, warm becomes cold below gate_down. Windows count from the start of the program.
class PeClock {
 public:
  PeClock(const Architecture& architecture, bool starts_warm);

  /// End of `cycles` cycles that start at `start`; the part behind a boundary runs at the new
  /// clock. Calls come in time order. [start, busy_until) counts as busy.
  Picoseconds run(Picoseconds start, double cycles);
  /// Marks time as busy without cycles (the array waits for its weights).
  void mark_busy(Picoseconds start, Picoseconds end);
  /// Duration at the clock valid at `time`.
  Picoseconds duration(Picoseconds time, double cycles);
  bool warm(Picoseconds time);

  bool is_warm_now() const { return warm_; }
  bool gated() const { return gated_; }
  /// Position within the window, for states that do not ignore it.
  Picoseconds phase(Picoseconds time) const;
  /// Whether work that repeats every `period`, as it did since `since`, keeps the clock as it is
  /// whatever the phase of the windows.
  bool steady(Picoseconds since, Picoseconds period) const;
  /// Moves the state forward by a multiple of the period of steady work.
  void shift(Picoseconds by);
  /// Forgets busy intervals that ended before `time`, but for one window.
  void forget_before(Picoseconds time);

 private:
  struct Interval {
    Picoseconds start, end;
  };
  void advance(Picoseconds time);
  void close_window();
  void add_busy(Picoseconds start, Picoseconds end);
  Picoseconds busy_between(Picoseconds from, Picoseconds to) const;

  const Architecture& architecture_;
  bool gated_;
  bool warm_;
  Picoseconds window_end_{};
  Picoseconds busy_{};                // within the open window
  std::deque<Interval> intervals_;    // merged, in order
  Picoseconds kept_since_{};          // older intervals may be forgotten
};

}  // namespace neuron_sim
