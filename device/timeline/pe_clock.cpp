#include "device/timeline/pe_clock.h"

#include <algorithm>

namespace neuron_sim {
namespace {

// Busy times kept before old ones are checked and dropped.
constexpr size_t kMaximumIntervals = 1024;

}  // namespace

PeClock::PeClock(const Architecture& architecture, bool starts_warm)
    : architecture_(architecture),
      gated_(architecture.features.clock_gating),
      warm_(starts_warm || !gated_),
      window_end_(architecture.tensor.gate_window) {}

bool PeClock::keeps(Picoseconds busy) const {
  const double share =
      static_cast<double>(busy.count) / static_cast<double>(window().count);
  return warm_ ? share >= architecture_.tensor.gate_down : share < architecture_.tensor.gate_up;
}

void PeClock::close_window() {
  if (!keeps(busy_)) {
    warm_ = !warm_;
    unsettled_until_ = std::max(unsettled_until_, window_end_);
  }
  busy_ = {};
  window_end_ += window();
}

void PeClock::advance(Picoseconds time) {
  if (!gated_) return;
  if (time - window_end_ > window() * 2) {
    close_window();  // what is behind the open window was idle
    close_window();
    const int64_t windows = (time - window_end_).count / window().count;
    window_end_ += window() * windows;
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
  if (end <= start) return;
  if (!intervals_.empty() && start <= intervals_.back().end) {
    intervals_.back().end = std::max(intervals_.back().end, end);
    return;
  }
  if (intervals_.size() >= kMaximumIntervals) {
    check_spans();
    forget_old();
  }
  intervals_.push_back({start, end});
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

Picoseconds PeClock::busy_between(Picoseconds from, Picoseconds to) const {
  Picoseconds busy{};
  for (auto it = intervals_.rbegin(); it != intervals_.rend() && it->end > from; ++it) {
    const Picoseconds start = std::max(it->start, from);
    const Picoseconds end = std::min(it->end, to);
    if (end > start) busy += end - start;
  }
  return busy;
}

size_t PeClock::first_edge_after(Picoseconds time) const {
  const auto found =
      std::partition_point(intervals_.begin(), intervals_.end(),
                           [&](const Interval& interval) { return interval.end <= time; });
  const auto index = static_cast<size_t>(found - intervals_.begin());
  return index * 2 + (found != intervals_.end() && found->start <= time ? 1 : 0);
}

void PeClock::check_spans() {
  // The busy time of the span that ends at `time` changes linearly between those ends at which the
  // span gains or loses an edge of a busy time.
  Picoseconds time = checked_;
  const Picoseconds until = busy_until();
  if (until <= time) return;
  size_t gained = first_edge_after(time);
  size_t lost = first_edge_after(time - window());
  Picoseconds busy = busy_between(time - window(), time);
  bool kept = keeps(busy);
  while (time < until) {
    const Picoseconds next = std::min(edge(gained), edge(lost) + window());
    if (gained % 2 == 1) busy += next - time;
    if (lost % 2 == 1) busy = busy - (next - time);
    const bool keeps_next = keeps(busy);
    if (!kept || !keeps_next) unsettled_until_ = std::max(unsettled_until_, next - window());
    kept = keeps_next;
    time = next;
    if (edge(gained) == time && time < until) ++gained;
    if (edge(lost) + window() == time) ++lost;
  }
  checked_ = until;
}

void PeClock::forget_old() {
  const Picoseconds oldest = std::min(checked_, busy_until()) - window();
  std::erase_if(intervals_, [&](const Interval& interval) { return interval.end < oldest; });
}

void PeClock::recent(std::vector<int64_t>& edges) const {
  edges.clear();
  const Picoseconds now = busy_until();
  for (size_t i = first_edge_after(now - window()); i < intervals_.size() * 2; ++i) {
    edges.push_back((edge(i) - now).count * 2 + static_cast<int64_t>(i % 2));
  }
}

bool PeClock::settled_since(Picoseconds time) {
  check_spans();
  return unsettled_until_ < time - window();
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
  const Picoseconds start = window() * (now.count / window().count);
  window_end_ = start + window();
  busy_ = busy_between(start, now);
}

}  // namespace neuron_sim
