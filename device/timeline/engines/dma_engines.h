#pragma once
// The 16 DMA engines of a core and the queues that feed them.

#include <array>
#include <span>
#include <vector>

#include "device/arch/architecture.h"
#include "device/instruction/demand.h"
#include "device/operand/engine.h"
#include "device/timeline/engines/span.h"
#include "device/timeline/engines/state_visitor.h"

namespace neuron_sim {

/// Busy time of one DMA engine, which takes the packets of all its queues as they come. Transfers
/// are reserved in program order, but queues overtake each other: one that comes earlier uses the
/// gaps, in parts if need be, so that the engine never idles while there is work. Gaps further
/// back than the last busy times are given up.
class BusyCalendar {
 public:
  /// Reserves `duration` of free time at or after `ready`; `end` is when all of it is spent.
  Span reserve(Picoseconds ready, Picoseconds duration);
  void visit(StateVisitor& visitor);

 private:
  static constexpr size_t kKept = 24;
  struct Interval {
    Picoseconds start{}, end{};
  };
  void replace(size_t first, size_t last, const Interval& interval);

  Picoseconds floor_{};  // nothing starts before
  size_t count_ = 0;
  std::array<Interval, kKept> busy_{};  // the first count_: in order, apart from each other
};

/// What one DMA engine does of a transfer: its part of a ring (a queue on an engine).
struct DmaShare {
  int64_t engine = 0;
  int64_t descriptors = 0;
  int64_t bytes = 0;
  Picoseconds start{}, end{};  ///< between them the engine may serve other queues in part
  Picoseconds duration{};      ///< its own time, which DmaEngines::busy() sums
  bool queued = false;         ///< began late because its ring was at work
};

/// Trigger, latency, transfer by 16 engines, completion: docs/hardware_facts.md#dma-timing
/// and #dma-timing-v2.
///
/// Rows go to the engines in equal shares. On each engine a queue is in order; queues share it.
/// HBM answers a load late (load_stall); after another load of its queue it adds to that. A stall
/// and a row's latency hold up the queue, not the engine. No engine moves bytes to or from HBM
/// faster than its equal share of HBM's bandwidth: of the two cores that share a stack of HBM, each
/// has half when the program uses both, whatever the other one transfers at the time.
class DmaEngines {
 public:
  /// `cores`: of the program.
  explicit DmaEngines(const Architecture& architecture, size_t cores = 1);

  /// How long the trigger blocks the issuing engine.
  Picoseconds trigger(const Step& step) const;
  /// The DMA instruction as shown, of an engine held for its trigger: hardware descriptors free the
  /// engine some time after its end, software descriptors are made before it.
  Span instruction(const Step& step, const Span& held) const;
  /// The transfer of a trigger that started at `start` and ended at `end` on `queue`. It starts
  /// with its first packet, which HBM may answer later. `in_hbm`: one side at least lies there.
  Span transfer(const Step& step, EngineKind queue, Picoseconds start, Picoseconds end,
                bool in_hbm = true);
  /// From now on keeps the shares of the last transfer.
  void keep_shares() { keeps_shares_ = true; }
  std::span<const DmaShare> shares() const { return shares_; }
  /// Sum over engines of time spent transferring.
  Picoseconds busy() const { return busy_; }
  void add_busy(Picoseconds time) { busy_ += time; }
  int64_t engines() const { return timing_.engines; }
  /// A queue that is idle for longer does not delay its next transfer.
  Picoseconds memory_of_queues() const;
  void visit(StateVisitor& visitor);

 private:
  Picoseconds first_packet(const Step& step) const;
  Picoseconds stall(const Step& step) const;
  Picoseconds queued_stall(const Step& step) const;
  double share_of_copy(TransferClass transfer) const;
  Picoseconds engine_time(const Step& step, int64_t descriptors, bool in_hbm) const;

  const DmaTiming& timing_;
  double hbm_share_;  // bytes per nanosecond of an engine
  std::vector<BusyCalendar> calendars_;
  std::array<std::vector<Picoseconds>, kEngineCount> queue_end_;  // [queue][engine]
  std::array<bool, kEngineCount> queue_loads_{};                  // its last transfer is a load
  Picoseconds busy_{};
  bool keeps_shares_ = false;
  std::vector<DmaShare> shares_;
};

}  // namespace neuron_sim
