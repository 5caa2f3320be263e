#pragma once
// The 16 DMA engines of a core and the queues that feed them.

#include <array>
#include <vector>

#include "device/arch/architecture.h"
#include "device/isa/demand.h"
#include "device/program/engine.h"
#include "device/timeline/span.h"
#include "device/timeline/state_visitor.h"

namespace neuron_sim {

/// Busy time of one DMA engine. A transfer takes the first gap that fits, because queues overtake
/// each other; gaps further back than the last few transfers are given up.
class BusyCalendar {
 public:
  BusyCalendar();
  /// Reserves `duration` from the first possible time at or after `ready`; returns its start.
  Picoseconds reserve(Picoseconds ready, Picoseconds duration);
  void visit(StateVisitor& visitor);

 private:
  static constexpr int kKept = 8;
  struct Interval {
    Picoseconds start{}, end{};
  };
  Picoseconds floor_{};               // nothing starts before
  std::array<Interval, kKept> busy_;  // in order; empty ones (start == end) first
};

/// Trigger, latency, transfer by 16 engines, completion: timing_findings.md sections 4 and 5.
class DmaEngines {
 public:
  explicit DmaEngines(const Architecture& architecture);

  /// How long the trigger blocks the issuing engine.
  Picoseconds trigger(const Step& step) const;
  /// The DMA instruction as shown, of an engine held for its trigger: hardware descriptors free the
  /// engine some time after its end, software descriptors are made before it.
  Span instruction(const Step& step, const Span& held) const;
  /// The transfer of a trigger that started at `start` and ended at `end` on `queue`.
  Span transfer(const Step& step, EngineKind queue, Picoseconds start, Picoseconds end);
  /// Sum over engines of time spent transferring.
  Picoseconds busy() const { return busy_; }
  void add_busy(Picoseconds time) { busy_ += time; }
  int64_t engines() const { return timing_.engines; }
  void visit(StateVisitor& visitor);

 private:
  Picoseconds first_packet(const Step& step) const;
  double share_of_copy(TransferClass transfer) const;
  Picoseconds engine_time(const Step& step, int64_t descriptors) const;

  const DmaTiming& timing_;
  std::vector<BusyCalendar> calendars_;
  std::array<std::vector<Picoseconds>, kEngineCount> queue_end_;  // [queue][engine]
  Picoseconds busy_{};
};

}  // namespace neuron_sim
