#include "device/timeline/engines/pe_clock.h"

#include <algorithm>
#include <cmath>

namespace neuron_sim {
namespace {

/// The least busy time whose share of the window is at least `gate`.
Picoseconds least_busy(Picoseconds window, double gate) {
  const auto length = static_cast<double>(window.count);
  Picoseconds busy{static_cast<int64_t>(gate * length)};
  while (busy.count > 0 && static_cast<double>(busy.count - 1) / length >= gate) --busy.count;
  while (static_cast<double>(busy.count) / length < gate) ++busy.count;
  return busy;
}

/// The phase moved into [0, window): the boundaries of the windows stay.
Picoseconds phase_in(Picoseconds phase, Picoseconds window) {
  const int64_t rest = phase.count % window.count;
  return {rest < 0 ? rest + window.count : rest};
}

}  // namespace

/// Busy time before times that are asked for in ascending order.
class PeClock::BusyBefore {
 public:
  explicit BusyBefore(const std::vector<Interval>& intervals) : intervals_(intervals) {}

  Picoseconds operator()(Picoseconds time) {
    if (intervals_.empty()) return {};
    while (next_ < intervals_.size() && intervals_[next_].start < time) ++next_;
    if (next_ == 0) return intervals_.front().earlier;
    const Interval& last = intervals_[next_ - 1];
    return last.earlier + (std::min(time, last.end) - last.start);
  }

 private:
  const std::vector<Interval>& intervals_;
  size_t next_ = 0;
};

PeClock::PeClock(const Architecture& architecture, bool starts_warm, Picoseconds phase)
    : architecture_(architecture),
      gated_(architecture.features.clock_gating),
      warm_(starts_warm || !gated_),
      rows_(architecture.limits.partitions),
      window_(architecture.tensor.gate_window),
      least_warm_(least_busy(architecture.tensor.gate_window, architecture.tensor.gate_down)),
      least_up_(least_busy(architecture.tensor.gate_window, architecture.tensor.gate_up)),
      phase_(phase_in(phase, architecture.tensor.gate_window)),
      window_end_(phase_.count > 0 ? phase_ : window_) {
  if (!gated_) window_end_ = {INT64_MAX};
}

void PeClock::close_window() {
  if (!keeps(busy_)) {
    warm_ = !warm_;
    unsettled_until_ = std::max(unsettled_until_, window_end_);
  }
  busy_ = {};
  window_end_ += window_;
}

void PeClock::advance(Picoseconds time) {
  if (time - window_end_ > window_ * 2) {
    close_window();  // what is after the open window was idle
    close_window();
    const int64_t windows = (time - window_end_).count / window_.count;
    window_end_ += window_ * windows;
  }
  while (time >= window_end_) close_window();
}

void PeClock::check_and_forget() {
  check_spans();
  forget_old();
}

Picoseconds PeClock::at_other_clock(Picoseconds time) const {
  const Clocks& clocks = architecture_.clocks;
  const double before = (warm_ ? clocks.tensor_cold : clocks.tensor).value;
  const double now = (warm_ ? clocks.tensor : clocks.tensor_cold).value;
  return {std::llround(static_cast<double>(time.count) * before / now)};
}

Picoseconds PeClock::run_busy_across(Picoseconds start, Picoseconds end) {
  Picoseconds from = std::max(start, window_end_ - window_);
  end = run_across(end, [&](Picoseconds boundary) {
    busy_ += boundary - from;
    from = boundary;
  });
  busy_ += end - from;
  add_busy(start, end);
  return end;
}

void PeClock::count_busy(Picoseconds start, Picoseconds end) {
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

size_t PeClock::first_edge_after(Picoseconds time) const {
  const auto found =
      std::partition_point(intervals_.begin(), intervals_.end(),
                           [&](const Interval& interval) { return interval.end <= time; });
  const auto index = static_cast<size_t>(found - intervals_.begin());
  return index * 2 + (found != intervals_.end() && found->start <= time ? 1 : 0);
}

void PeClock::check_spans() {
  // From one span to the next the busy time changes by no more than their distance. Spans that are
  // close to a gate count as unsettled.
  const Picoseconds until = busy_until();
  const Picoseconds close{window_.count / 64 + 1};
  BusyBefore before_start(intervals_), before_end(intervals_);
  while (checked_ < until) {
    const Picoseconds busy = before_end(checked_) - before_start(checked_ - window_);
    const Picoseconds distance = warm_ ? busy - least_warm_ : least_up_ - busy;
    const Picoseconds next = std::min(until, checked_ + std::max(distance - Picoseconds{1}, close));
    if (distance < close) unsettled_until_ = std::max(unsettled_until_, next - window_);
    checked_ = next;
  }
}

void PeClock::forget_old() {
  const Picoseconds oldest = std::min(checked_, busy_until()) - window_;
  std::erase_if(intervals_, [&](const Interval& interval) { return interval.end < oldest; });
}

void PeClock::recent(std::vector<int64_t>& edges) const {
  edges.clear();
  const Picoseconds now = busy_until();
  for (size_t i = first_edge_after(now - window_); i < intervals_.size() * 2; ++i) {
    edges.push_back((edge(i) - now).count * 2 + static_cast<int64_t>(i % 2));
  }
}

bool PeClock::settled_since(Picoseconds time) {
  check_spans();
  return unsettled_until_ < time - window_;
}

void PeClock::shift(Picoseconds by) {
  if (intervals_.empty()) return;
  check_spans();
  forget_old();
  checked_ += by;
  for (Interval& interval : intervals_) {
    interval.start += by;
    interval.end += by;
  }
  const Picoseconds now = busy_until();
  const Picoseconds first = phase_ - window_;  // a boundary before all work
  const Picoseconds start = first + window_ * ((now - first).count / window_.count);
  window_end_ = start + window_;
  BusyBefore before(intervals_);
  const Picoseconds closed = before(start);
  busy_ = before(now) - closed;
}

}  // namespace neuron_sim
