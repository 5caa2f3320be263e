#pragma once
// The timeline of one core: one pass in program order.

#include <algorithm>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/base/errors.h"
#include "device/program/control_log.h"
#include "device/program/meeting.h"
#include "device/program/program.h"
#include "device/timeline/core_state.h"
#include "device/timeline/loop_forecast.h"
#include "device/timeline/loop_skip.h"
#include "device/timeline/operand_accesses.h"
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
  CoreWalk(const Program& program, size_t core, LogReader& log, const TimelineOptions& options);

  int64_t trip_count(const Loop& loop);
  int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
    const int64_t skipped = skipped_iterations(loop, index, iteration, trips);
    if (iteration + skipped < trips) program_accesses_.iterate(index, iteration + skipped);
    return skipped;
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
  bool skips_loops() const { return options_.skip_steady_loops && options_.observer == nullptr; }
  /// All engines of a loop wait for the registers that decide about it.
  void await_registers(const Loop& loop);
  bool continues(const Loop& loop, int64_t iteration);
  int64_t skipped_iterations(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
    if (loop.kind == LoopKind::kWhile) return continues(loop, iteration) ? 0 : trips - iteration;
    return skips_loops() ? skip_.boundary(loop, index, iteration, trips) : 0;
  }
  /// Adds the producers that the scheduling edges of an instruction name.
  void gather_edges(const Instruction& instruction, Waits& waits);
  /// Finds what an instance accesses; every instance begins with it.
  void begin(uint32_t index, const int64_t* variables) {
    const Instruction& instruction = program_.instructions[index];
    accesses_ = program_accesses_.at(index, variables);
    if (program_.uses_registers) await_addresses(instruction);
    ++timing_.instances;
    ++timing_.instructions[static_cast<size_t>(instruction.engine)];
  }
  void await_addresses(const Instruction& instruction);
  void matmul(uint32_t index, const Instruction& instruction);
  void transfer(uint32_t index, const Instruction& instruction, Step step);
  /// All ranks come at once: they run the same program.
  void collective(uint32_t index, const Instruction& instruction, const Step& step);
  MemoryAccess accesses(const Instruction& instruction) const;
  /// Whether a transfer moves bytes to or from HBM.
  bool is_in_hbm(const Instruction& instruction) const;
  void pipeline(uint32_t index, const Instruction& instruction, const Step& step);
  /// An instance is done, on its engine or on its queue.
  void complete(const Instruction& instruction, Slot slot, Picoseconds done) {
    for (const OperandAccess& access : accesses_) {
      if (access.writes) state_.tensor.forget(access.location.tile);
      if (access.pending != nullptr)
        access.pending->record(access.region, access.writes, slot, done);
    }
    if (is_queue(slot) && triggers_dma(instruction)) state_.queue(slot).take(done);
    state_.last = std::max(state_.last, done);
    if (!producers_.empty()) complete_producer(instruction, slot, done);
  }
  void complete_producer(const Instruction& instruction, Slot slot, Picoseconds done);
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
  /// A load, of length zero when the weights were there, and its multiply.
  void report_pair(uint32_t index, uint8_t pair, const Span& load, const Span& multiply,
                   Picoseconds streamed);
  void report_transfer(uint32_t index, const Span& transfer, int64_t bytes);
  void notify_instance(uint32_t index, const Waits& waits, Picoseconds ready, Picoseconds start);
  /// Collectives have queues of their own, on the CC-Cores (trainium2_arch.rst).
  bool triggers_dma(const Instruction& instruction) const {
    return program_.demands[instruction.demand].steps[0].unit == Unit::kDma;
  }
  /// Whether an instance may start without waiting for a semaphore of its queue.
  bool has_semaphore(uint32_t index, Slot own) {
    if (!triggers_dma(program_.instructions[index])) return true;
    return state_.semaphores.known(engine_of(own), own, state_.queue(own).next_free());
  }
  /// Earliest start, from `ready` on, of an instance that `own` will complete.
  Picoseconds await(uint32_t index, Slot own, Picoseconds ready) {
    bool settled = !has_edges_or_observer_ && has_semaphore(index, own);
    for (const OperandAccess& access : accesses_) {
      settled =
          settled && (access.pending == nullptr || access.pending->is_settled(access.writes, own));
    }
    return settled ? state_.semaphores.no_wait(ready) : wait(index, own, ready);
  }
  /// Earliest start, from `ready` on, of an instance that may have to wait; reports the wait
  /// instructions.
  Picoseconds wait(uint32_t index, Slot own, Picoseconds ready);
  /// The engine's part of a DMA: how long it is held.
  Span start_transfer(uint32_t index, const Step& step, Picoseconds ready);
  Picoseconds& busy(EngineKind engine) { return timing_.busy[static_cast<size_t>(engine)]; }

  const Program& program_;
  LogReader& log_;
  const TimelineOptions& options_;
  const Architecture& architecture_;
  CoreState state_;
  std::vector<MatmulWork> matmuls_;  // by demand
  OperandAccesses program_accesses_;
  Timing timing_;
  LoopSkip skip_;
  LoopForecast forecast_;  // used without a log
  struct Producer {
    Slot slot{};
    Picoseconds done{};
  };
  std::unordered_map<uint32_t, Producer> producers_;  // of scheduling edges, by instruction
  bool has_edges_or_observer_ = false;
  Picoseconds waiting_{};                    // for the other core
  std::span<const OperandAccess> accesses_;  // of the instance at hand
};

}  // namespace neuron_sim
