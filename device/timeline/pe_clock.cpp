#include "device/timeline/pe_clock.h"

#include <algorithm>
#include <vector>

namespace neuron_sim {

PeClock::PeClock(const Architecture& architecture, bool starts_warm)
    : architecture_(architecture),
      gated_(architecture.features.clock_gating),
      warm_(starts_warm || !gated_),
      window_end_(architecture.tensor.gate_window) {}

void PeClock::close_window() {
  const double share = static_cast<double>(busy_.count) /
                       static_cast<double>(architecture_.tensor.gate_window.count);
  warm_ = warm_ ? share >= architecture_.tensor.gate_down : share >= architecture_.tensor.gate_up;
  busy_ = {};
  window_end_ += architecture_.tensor.gate_window;
}

void PeClock::advance(Picoseconds time) {
  if (!gated_) return;
  if (time - window_end_ > architecture_.tensor.gate_window * 2) {
    close_window();  // what is behind the open window was idle
    close_window();
    const int64_t windows =
        (time - window_end_).count / architecture_.tensor.gate_window.count;
    window_end_ += architecture_.tensor.gate_window * windows;
  }
  while (time >= window_end_) close_window();
}

Picoseconds PeClock::duration(Picoseconds time, double cycles) {
  return (warm(time) ? architecture_.clocks.tensor : architecture_.clocks.tensor_cold)
      .duration(cycles);
}

bool PeClock::warm(Picoseconds time) {
  advance(time);
  return warm_;
}

void PeClock::add_busy(Picoseconds start, Picoseconds end) {
  if (!intervals_.empty() && start <= intervals_.back().end) {
    intervals_.back().end = std::max(intervals_.back().end, end);
  } else {
    intervals_.push_back({start, end});
  }
}

Picoseconds PeClock::run(Picoseconds start, double cycles) {
  Picoseconds end = start + duration(start, cycles);
  if (!gated_) return end;
  Picoseconds from = start;
  while (end > window_end_) {
    const Picoseconds boundary = window_end_;
    const bool before = warm_;
    busy_ += boundary - from;
    close_window();
    from = boundary;
    if (warm_ != before) {
      const double old_clock =
          (before ? architecture_.clocks.tensor : architecture_.clocks.tensor_cold).value;
      const double new_clock =
          (warm_ ? architecture_.clocks.tensor : architecture_.clocks.tensor_cold).value;
      const double left = static_cast<double>((end - boundary).count) * old_clock / new_clock;
      end = boundary + Picoseconds{static_cast<int64_t>(left + 0.5)};
    }
  }
  busy_ += end - from;
  add_busy(start, end);
  return end;
}

void PeClock::mark_busy(Picoseconds start, Picoseconds end) {
  if (!gated_ || end <= start) return;
  advance(start);
  Picoseconds from = start;
  while (end > window_end_) {
    busy_ += window_end_ - from;
    from = window_end_;
    close_window();
  }
  busy_ += end - from;
  add_busy(start, end);
}

Picoseconds PeClock::phase(Picoseconds time) const {
  return time - (window_end_ - architecture_.tensor.gate_window);
}

Picoseconds PeClock::busy_between(Picoseconds from, Picoseconds to) const {
  Picoseconds busy{};
  for (auto it = intervals_.rbegin(); it != intervals_.rend() && it->end > from; ++it) {
    const Picoseconds start = std::max(it->start, from);
    const Picoseconds end = std::min(it->end, to);
    if (end > start) busy += end - start;
  }
  return busy;
}

bool PeClock::steady(Picoseconds since, Picoseconds period) const {
  if (!gated_) return true;
  if (since < kept_since_) return false;
  const Picoseconds window = architecture_.tensor.gate_window;
  const Picoseconds total = busy_between(since, since + period);
  // Busy time of any window = whole periods + a remainder; candidates for the extremes start
  // where an interval starts or ends.
  const int64_t whole = window.count / period.count;
  const Picoseconds rest{window.count % period.count};
  const auto busy_from = [&](Picoseconds from) {
    Picoseconds offset{(from - since).count % period.count};
    const Picoseconds start = since + offset;
    const Picoseconds end = start + rest;
    Picoseconds busy = busy_between(start, std::min(end, since + period));
    if (end > since + period) busy += busy_between(since, end - period);
    return total * whole + busy;
  };
  Picoseconds least = window, most{};
  std::vector<Picoseconds> candidates{since};
  for (const Interval& interval : intervals_) {
    for (const Picoseconds edge : {interval.start, interval.end}) {
      if (edge < since || edge >= since + period) continue;
      candidates.push_back(edge);
      if (edge - rest >= since) candidates.push_back(edge - rest);
      else candidates.push_back(edge - rest + period * (1 + rest.count / period.count));
    }
    if (candidates.size() > 4096) return false;  // too fine to decide cheaply
  }
  for (const Picoseconds from : candidates) {
    const Picoseconds busy = busy_from(from);
    least = std::min(least, busy);
    most = std::max(most, busy);
  }
  const double share_least = static_cast<double>(least.count) / static_cast<double>(window.count);
  const double share_most = static_cast<double>(most.count) / static_cast<double>(window.count);
  return warm_ ? share_least >= architecture_.tensor.gate_down
               : share_most < architecture_.tensor.gate_up;
}

void PeClock::shift(Picoseconds by) {
  if (!gated_ || intervals_.empty()) return;
  kept_since_ += by;
  for (Interval& interval : intervals_) {
    interval.start += by;
    interval.end += by;
  }
  const Picoseconds now = intervals_.back().end;
  const Picoseconds window = architecture_.tensor.gate_window;
  const int64_t index = now.count / window.count;
  const Picoseconds start = window * index;
  window_end_ = start + window;
  busy_ = busy_between(start, now);
}

void PeClock::forget_before(Picoseconds time) {
  const Picoseconds limit = time - architecture_.tensor.gate_window * 2;
  while (!intervals_.empty() && intervals_.front().end < limit) {
    kept_since_ = intervals_.front().end;
    intervals_.pop_front();
  }
}

}  // namespace neuron_sim
