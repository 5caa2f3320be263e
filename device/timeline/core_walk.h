#pragma once
// The timeline of one core: one pass in program order.

#include <array>
#include <unordered_map>
#include <vector>

#include "device/base/errors.h"
#include "device/program/control_log.h"
#include "device/program/meeting.h"
#include "device/program/program.h"
#include "device/timeline/core_state.h"
#include "device/timeline/loop_forecast.h"
#include "device/timeline/loop_skip.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {

/// The values of a control log in the order of the walk, which is the executor's order.
class LogReader {
 public:
  explicit LogReader(const ControlLog& log) : log_(log) {}
  /// The next value; `otherwise` without a log.
  int64_t next(int64_t otherwise);
  /// Whether there is a log: a run that computed.
  bool is_present() const { return !log_.values.empty(); }

 private:
  const ControlLog& log_;
  size_t position_ = 0;
};

/// Visitor of one core's instructions. Engines are in-order queues; DMA transfers of different
/// queues may overtake each other through the calendars of the DMA engines.
class CoreWalk {
 public:
  CoreWalk(const Program& program, LogReader& log, const TimelineOptions& options);

  int64_t trip_count(const Loop& loop);
  int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
    if (loop.kind == LoopKind::kWhile) return continues(loop, iteration) ? 0 : trips - iteration;
    if (!options_.skip_steady_loops || options_.observer != nullptr) return 0;
    return skip_.boundary(loop, index, iteration, trips);
  }
  void instruction(uint32_t index, const int64_t* variables);
  /// Cores of programs with several meet in device/timeline/peer.h.
  void meet(const Meeting&) { require(false, "a core meets another one"); }

  /// A synchronisation, step by step (device/timeline/peer.h). arrive: when its engine is free and
  /// what it waits for on its own core is done; the other calls are about that instruction.
  Picoseconds arrive(uint32_t index, const int64_t* variables);
  /// The DMA trigger of an exchange that arrived at `ready`.
  Span trigger(uint32_t index, Picoseconds ready);
  /// The transfer after that trigger; nothing moves before `start`.
  Span send(uint32_t index, const Span& trigger, Picoseconds start);
  void receive(uint32_t index, Span transfer, Picoseconds done);
  /// The engine stands at the instruction from `ready` to `end`, `working` of that time.
  void hold(uint32_t index, Picoseconds ready, Picoseconds end, Picoseconds working);

  Timing finish();

 private:
  /// All engines of a loop wait for the registers that decide about it.
  void await_registers(const Loop& loop);
  bool continues(const Loop& loop, int64_t iteration);
  /// Adds the producers that the scheduling edges of an instruction name.
  void gather_edges(const Instruction& instruction, Waits& waits);
  void resolve(const Instruction& instruction, const int64_t* variables);
  void gather_waits(const Instruction& instruction, size_t operand, Waits& waits);
  void matmul(uint32_t index, const Instruction& instruction);
  void transfer(uint32_t index, const Instruction& instruction, Step step);
  /// All ranks come at once: they run the same program.
  void collective(uint32_t index, const Instruction& instruction, const Step& step);
  MemoryAccess accesses(const Instruction& instruction) const;
  /// Whether a transfer moves bytes to or from HBM.
  bool is_in_hbm(const Instruction& instruction) const;
  void pipeline(uint32_t index, const Instruction& instruction, const Step& step);
  void complete(const Instruction& instruction, Slot slot, Picoseconds done);
  /// What an event says besides its span.
  struct Details {
    Picoseconds busy{};
    int64_t bytes = 0;
    uint8_t pair = 0;
  };
  void report(uint32_t index, EventKind kind, Unit unit, const Span& span) {
    report(index, kind, unit, span, {});
  }
  void report(uint32_t index, EventKind kind, Unit unit, const Span& span, const Details& details) {
    if (options_.observer != nullptr) notify(index, kind, unit, span, details);
  }
  void notify(uint32_t index, EventKind kind, Unit unit, const Span& span, const Details& details);
  void report_transfer(uint32_t index, const Span& transfer, int64_t bytes);
  void notify_instance(uint32_t index, const Waits& waits, Picoseconds ready, Picoseconds start);
  /// Earliest start after these waits; reports the wait instructions.
  Picoseconds wait(uint32_t index, const Waits& waits, Picoseconds ready);
  /// The engine's part of a DMA: how long it is held.
  Span start_transfer(uint32_t index, const Step& step, Picoseconds ready);
  Waits all_waits(const Instruction& instruction);
  Picoseconds& busy(EngineKind engine) { return timing_.busy[static_cast<size_t>(engine)]; }

  const Program& program_;
  LogReader& log_;
  const TimelineOptions& options_;
  const Architecture& architecture_;
  CoreState state_;
  std::vector<MatmulWork> matmuls_;                        // by demand
  std::vector<TileHistory<Completion>*> history_of_tile_;  // by tile; null: needs none
  Timing timing_;
  LoopSkip skip_;
  LoopForecast forecast_;  // used without a log
  struct Producer {
    Slot slot{};
    Picoseconds done{};
  };
  std::unordered_map<uint32_t, Producer> producers_;  // of scheduling edges, by instruction
  Picoseconds waiting_{};                             // for the other core
  std::array<Location, kMaximumOperands> locations_{};
  std::array<Region, kMaximumOperands> regions_{};
  std::array<TileHistory<Completion>*, kMaximumOperands> histories_{};
};

}  // namespace neuron_sim
