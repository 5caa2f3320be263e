#include "device/timeline/dma_engines.h"

#include <algorithm>

namespace neuron_sim {

BusyCalendar::BusyCalendar() : busy_{} {}

Picoseconds BusyCalendar::reserve(Picoseconds ready, Picoseconds duration) {
  Picoseconds start = std::max(ready, floor_);
  int position = kKept;  // the new interval goes before this one
  for (int i = 0; i < kKept; ++i) {
    const Interval& busy = busy_[static_cast<size_t>(i)];
    if (busy.start == busy.end) continue;
    if (start + duration <= busy.start) {
      position = i;
      break;
    }
    start = std::max(start, busy.end);
  }
  // The oldest interval gives way; gaps before its end are no longer used.
  floor_ = std::max(floor_, busy_[0].end);
  for (int i = 0; i + 1 < position; ++i) {
    busy_[static_cast<size_t>(i)] = busy_[static_cast<size_t>(i) + 1];
  }
  if (position > 0) {
    busy_[static_cast<size_t>(position) - 1] = {start, start + duration};
  } else {
    busy_[0] = {start, std::max(start + duration, busy_[0].end)};
  }
  return start;
}

void BusyCalendar::visit(StateVisitor& visitor) {
  visitor.time(floor_);
  for (Interval& interval : busy_) {
    visitor.time(interval.start);
    visitor.time(interval.end);
  }
}

DmaEngines::DmaEngines(const Architecture& architecture)
    : timing_(architecture.dma), calendars_(static_cast<size_t>(architecture.dma.engines)) {
  for (auto& queue : queue_end_) queue.resize(static_cast<size_t>(timing_.engines));
}

Picoseconds DmaEngines::trigger(const Step& step) const {
  // Hardware descriptor generation takes longer with more descriptors, up to 128 of them.
  constexpr int64_t kHardwareDescriptors = 128;
  switch (step.descriptors) {
    case DescriptorKind::kHardware:
      return timing_.hardware_trigger +
             timing_.hardware_trigger_element * std::min(step.elements, kHardwareDescriptors);
    case DescriptorKind::kSoftware:
      return timing_.software_trigger + timing_.software_trigger_element * step.elements;
    case DescriptorKind::kStatic: break;
  }
  return timing_.static_trigger;
}

Span DmaEngines::instruction(const Step& step, const Span& held) const {
  switch (step.descriptors) {
    case DescriptorKind::kHardware:
      return {held.start, held.end, std::max(held.start, held.end - timing_.hardware_trigger_gap)};
    case DescriptorKind::kSoftware:
      return {held.end, held.end, held.end + timing_.software_instruction};
    case DescriptorKind::kStatic: break;
  }
  return held;
}

Picoseconds DmaEngines::first_packet(const Step& step) const {
  switch (step.descriptors) {
    case DescriptorKind::kHardware:
      return step.store ? timing_.hardware_first_store : timing_.hardware_first_load;
    case DescriptorKind::kSoftware:
      return step.store ? timing_.software_first_store : timing_.software_first_load;
    case DescriptorKind::kStatic: break;
  }
  return step.store ? timing_.static_first_store : timing_.static_first_load;
}

double DmaEngines::share_of_copy(TransferClass transfer) const {
  switch (transfer) {
    case TransferClass::kTransposeHbm: return timing_.transpose_hbm;
    case TransferClass::kTransposeSbuf: return timing_.transpose_sbuf;
    case TransferClass::kCompute: return timing_.compute;
    case TransferClass::kCopy: break;
  }
  return 1;
}

Picoseconds DmaEngines::engine_time(const Step& step, int64_t descriptors) const {
  const int64_t bytes = std::max(step.bytes, step.padded_bytes) * descriptors;
  int64_t packets = descriptors * std::max<int64_t>(step.fragments, 1);
  if (step.descriptors == DescriptorKind::kSoftware && step.fragments <= 1) {
    packets = std::max<int64_t>(1, (bytes + timing_.software_packet - 1) / timing_.software_packet);
  }
  const Picoseconds stream =
      from_nanoseconds(static_cast<double>(bytes) / timing_.bytes_per_nanosecond);
  const Picoseconds copy = timing_.packet * packets + stream;
  if (step.transfer == TransferClass::kCopy) return copy;
  return from_nanoseconds(copy.nanoseconds() / share_of_copy(step.transfer));
}

Span DmaEngines::transfer(const Step& step, EngineKind queue, Picoseconds start, Picoseconds end) {
  // Hardware and static latencies count from the start of the trigger; software descriptors are
  // complete only at its end.
  const bool software = step.descriptors == DescriptorKind::kSoftware;
  const Picoseconds first = (software ? end : start) + first_packet(step);
  const int64_t rows = std::max<int64_t>(step.elements, 1);
  const int64_t engines = std::min<int64_t>(rows, timing_.engines);
  const int64_t share = rows / engines;
  const int64_t larger = rows % engines;
  Picoseconds scatter{};
  if (step.fragments > 1) scatter = timing_.element_scatter * (rows * step.fragments);
  Span span{Picoseconds{INT64_MAX}, {}, {}};
  std::vector<Picoseconds>& queue_end = queue_end_[static_cast<size_t>(queue)];
  for (int64_t i = 0; i < engines; ++i) {
    const auto engine = static_cast<size_t>(i);
    const Picoseconds duration = std::max(engine_time(step, share + (i < larger ? 1 : 0)), scatter);
    const Picoseconds ready = std::max(first + timing_.engine_skew * i, queue_end[engine]);
    const Picoseconds begin = calendars_[engine].reserve(ready, duration);
    queue_end[engine] = begin + duration;
    span.start = std::min(span.start, begin);
    span.end = std::max(span.end, begin + duration);
    busy_ += duration;
  }
  span.done = span.end + (step.store ? timing_.complete_store : timing_.complete_load);
  return span;
}

void DmaEngines::visit(StateVisitor& visitor) {
  for (BusyCalendar& calendar : calendars_) calendar.visit(visitor);
  for (auto& queue : queue_end_) {
    for (Picoseconds& end : queue) visitor.time(end);
  }
}

}  // namespace neuron_sim
