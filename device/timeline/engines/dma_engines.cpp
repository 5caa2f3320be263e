#include "device/timeline/engines/dma_engines.h"

#include <algorithm>

namespace neuron_sim {

/// Intervals [first, last) become one.
void BusyCalendar::replace(size_t first, size_t last, const Interval& interval) {
  if (first == last) {
    if (count_ == kKept) {  // the oldest one gives way, and the gaps before its end with it
      if (first == 0) {
        floor_ = std::max(floor_, interval.end);
        return;
      }
      floor_ = std::max(floor_, busy_[0].end);
      std::move(busy_.begin() + 1, busy_.begin() + static_cast<ptrdiff_t>(first), busy_.begin());
      busy_[first - 1] = interval;
      return;
    }
    for (size_t i = count_++; i > first; --i) busy_[i] = busy_[i - 1];
    busy_[first] = interval;
    return;
  }
  busy_[first] = interval;
  for (size_t i = last; i < count_; ++i) busy_[first + 1 + i - last] = busy_[i];
  count_ -= last - first - 1;
}

Span BusyCalendar::reserve(Picoseconds ready, Picoseconds duration) {
  Picoseconds start = std::max(ready, floor_);
  size_t first = count_;  // the first interval that ends at `start` or later
  while (first > 0 && busy_[first - 1].end >= start) --first;
  Picoseconds busy_from = start;
  if (first < count_ && busy_[first].start <= start) {
    start = busy_[first].end;
    busy_from = busy_[first].start;
  }
  if (duration.count <= 0) return {start, start, start};
  // From `start` to the end all time is busy: with older work or with this.
  Picoseconds end = start + duration;
  size_t last = first;
  for (; last < count_ && busy_[last].start < end; ++last) {
    if (busy_[last].start >= start) end += busy_[last].end - busy_[last].start;
  }
  Picoseconds busy_until = end;
  if (last < count_ && busy_[last].start == end) busy_until = busy_[last++].end;
  replace(first, last, {busy_from, busy_until});
  return {start, end, end};
}

void BusyCalendar::visit(StateVisitor& visitor) {
  visitor.time(floor_);
  visitor.other(static_cast<int64_t>(count_));
  for (size_t i = 0; i < count_; ++i) {
    visitor.time(busy_[i].start);
    visitor.time(busy_[i].end);
  }
}

DmaEngines::DmaEngines(const Architecture& architecture, size_t cores)
    : timing_(architecture.dma),
      hbm_share_(timing_.hbm_bytes_per_nanosecond /
                 static_cast<double>(static_cast<size_t>(timing_.engines) * cores)),
      calendars_(static_cast<size_t>(timing_.engines)) {
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

namespace {

bool is_transpose(TransferClass transfer) {
  return transfer == TransferClass::kTransposeHbm || transfer == TransferClass::kTransposeSbuf;
}

/// Bytes of a loaded row: what the transfer reads in one piece. How the partition takes them up
/// does not matter to HBM.
int64_t loaded_row(const Step& step) {
  if (step.loaded_run > 0) return step.loaded_run;
  return step.bytes / std::max<int64_t>(step.fragments, 1);
}

}  // namespace

Picoseconds DmaEngines::engine_time(const Step& step, int64_t descriptors, bool in_hbm) const {
  const int64_t bytes = std::max(step.bytes, step.padded_bytes) * descriptors;
  const bool pieces = step.fragments > 1;
  int64_t packets = descriptors * std::max<int64_t>(step.fragments, 1);
  if (step.descriptors == DescriptorKind::kSoftware && !step.store && !pieces) {
    packets = std::max<int64_t>(1, (bytes + timing_.software_packet - 1) / timing_.software_packet);
  }
  const double rate =
      step.store ? timing_.bytes_per_nanosecond_store : timing_.bytes_per_nanosecond;
  const Picoseconds stream = from_nanoseconds(static_cast<double>(bytes) / rate);
  Picoseconds each = step.store && !pieces ? timing_.packet_store : timing_.packet;
  if (!step.store && loaded_row(step) < timing_.small_row) {
    each = std::max(each, timing_.small_row_packet);
  }
  // The share of a transpose counts from the peak of a copy (trainium2_arch.rst, DMA Transpose):
  // all engines write blocks of [128, 16] elements together, whose rows are no packets.
  const Picoseconds of_copy = is_transpose(step.transfer) ? stream : each * packets + stream;
  const Picoseconds time = from_nanoseconds(of_copy.nanoseconds() / share_of_copy(step.transfer));
  // While one engine prepares a packet, HBM serves the others.
  const Picoseconds memory = from_nanoseconds(static_cast<double>(bytes) / hbm_share_);
  return in_hbm ? std::max(time, memory) : time;
}

Picoseconds DmaEngines::stall(const Step& step) const {
  if (step.store) return {};
  const auto kibibytes = static_cast<double>(step.bytes * step.elements) / 1024;
  return timing_.load_stall +
         from_nanoseconds(timing_.load_stall_kibibyte.nanoseconds() * kibibytes);
}

Picoseconds DmaEngines::queued_stall(const Step& step) const {
  switch (step.descriptors) {
    case DescriptorKind::kHardware: return timing_.load_stall_queued_hardware;
    case DescriptorKind::kSoftware: return timing_.load_stall_queued_software;
    case DescriptorKind::kStatic: break;
  }
  return timing_.load_stall_queued_static;
}

Picoseconds DmaEngines::memory_of_queues() const {
  return std::max({timing_.load_stall_queued_hardware, timing_.load_stall_queued_software,
                   timing_.load_stall_queued_static});
}

Span DmaEngines::transfer(const Step& step, EngineKind queue, Picoseconds start, Picoseconds end,
                          bool in_hbm) {
  // Hardware and static latencies count from the start of the trigger; software descriptors are
  // complete only at its end.
  const bool software = step.descriptors == DescriptorKind::kSoftware;
  const Picoseconds stalled = stall(step);
  const Picoseconds first = (software ? end : start) + first_packet(step);
  const Picoseconds answer = first + std::min(stalled, timing_.load_stall_maximum);
  bool& loads = queue_loads_[static_cast<size_t>(queue)];
  const Picoseconds behind =
      loads && !step.store ? std::min(stalled, queued_stall(step)) : Picoseconds{};
  loads = !step.store;
  const int64_t rows = std::max<int64_t>(step.elements, 1);
  const int64_t engines = std::min<int64_t>(rows, timing_.engines);
  const int64_t share = rows / engines;
  const int64_t larger = rows % engines;
  const int64_t scattered = step.fragments > 1 ? rows * step.fragments : step.partial_words;
  const Picoseconds scatter = timing_.element_scatter * scattered;
  Span span{Picoseconds{INT64_MAX}, {}, {}};
  shares_.clear();
  std::vector<Picoseconds>& queue_end = queue_end_[static_cast<size_t>(queue)];
  const Picoseconds shorter = std::max(engine_time(step, share, in_hbm), scatter);
  const Picoseconds longer =
      larger > 0 ? std::max(engine_time(step, share + 1, in_hbm), scatter) : shorter;
  for (int64_t i = 0; i < engines; ++i) {
    const auto engine = static_cast<size_t>(i);
    const int64_t own = share + (i < larger ? 1 : 0);
    const Picoseconds duration = i < larger ? longer : shorter;
    const Picoseconds skew = timing_.engine_skew * i;
    const Picoseconds issued = std::max(first + skew, queue_end[engine]);
    const Picoseconds ready = std::max(answer + skew, queue_end[engine] + behind);
    const Span busy = calendars_[engine].reserve(ready, duration);
    if (keeps_shares_) {
      const bool queued = queue_end[engine] > first + skew;
      const int64_t bytes = step.elements > 0 ? own * step.bytes : 0;
      shares_.push_back({i, own, bytes, busy.start, busy.end, duration, queued});
    }
    queue_end[engine] = busy.end;
    span.start = std::min(span.start, busy.start - (ready - issued));
    span.end = std::max(span.end, queue_end[engine]);
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
  for (const bool loads : queue_loads_) visitor.other(loads ? 1 : 0);
}

}  // namespace neuron_sim
