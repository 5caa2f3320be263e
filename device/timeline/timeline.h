#pragma once
// Computes when each instruction of a Program starts and ends: what the chip's clock would say.
// Reads Program and ControlLog, never memories.

#include <optional>
#include <span>

#include "device/instruction/demand.h"
#include "device/program/control_log.h"
#include "device/program/program.h"
#include "device/timeline/engines/dma_engines.h"
#include "device/timeline/engines/tensor_engine.h"
#include "device/timeline/timing.h"

namespace neuron_sim {

/// What an event shows. All but kStep and kTransfer belong to the instruction they precede.
enum class EventKind : uint8_t {
  kStep,        ///< a unit at work
  kWait,        ///< EVENT_SEMAPHORE: a second wait of one instruction
  kTableLoad,   ///< ScalarE loads an activation table
  kGeneration,  ///< GpSimd makes the descriptors of a DMA
  kTrigger,     ///< the DMA instruction on its engine
  kTransfer,    ///< the DMA engines at work
};

/// One step of one instance, for traces and logs. `span.done - span.start` is the duration that
/// the chip's profiler shows, `span.end` is when the unit takes its next instruction (the span of a
/// MultiplyMoving may start before its weights are loaded, as on the chip).
struct StepEvent {
  uint32_t instruction = 0;
  uint8_t core = 0;  ///< of the program
  Unit unit{};
  EngineKind engine{};  ///< issuing engine; the queue of a transfer
  EventKind kind{};
  uint8_t pair = 0;  ///< TensorE, fp32: 0 for the low part of the weights, 1 for the high one
  Span span{};
  int64_t bytes = 0;   ///< of a transfer
  Picoseconds busy{};  ///< what it adds to Timing::busy of its engine
};

/// A completion that an instance waited for.
struct Awaited {
  Slot producer = 0;
  Picoseconds completion{};
  Picoseconds released{};  ///< the engine has seen the semaphore
};

/// One instance at its engine, before its steps. Spans are valid during the call.
struct InstanceEvent {
  uint32_t instruction = 0;
  uint8_t core = 0;
  EngineKind engine{};
  Picoseconds ready{};  ///< the engine could take it
  Picoseconds start{};  ///< all that it waited for was there
  std::span<const Awaited> waits;
  std::span<const Location> locations;  ///< by operand; of absent ones any
};

/// Listens; changes nothing. Only `step` must be listened to.
class TimelineObserver {
 public:
  virtual ~TimelineObserver();
  /// Before the steps of each instance.
  virtual void instance(const Program&, const InstanceEvent&) {}
  virtual void step(const Program& program, const StepEvent& event) = 0;
  /// After the step of each transfer: the parts of the DMA engines.
  virtual void shares(const Program&, std::span<const DmaShare>) {}
};

struct TimelineOptions {
  bool skip_steady_loops = true;  ///< exact; off for proof
  bool starts_warm = false;       ///< PE clock at the start of the program
  /// The windows of the PE clock begin at clock_phase + k windows, k any integer: on hardware they
  /// run free, so that a kernel meets them at any phase.
  Picoseconds clock_phase{};
  /// Times the program on these parameters; null: its own. What its instructions ask of the
  /// hardware (Program::demands) stays.
  const Architecture* architecture = nullptr;
  TimelineObserver* observer = nullptr;  ///< sees every step; turns skipping off
  /// Without a log: iterations of loops whose registers come from memory (LoopForecast).
  std::optional<int64_t> dynamic_trips{};
};

/// The parameter set that the options choose for the program.
inline const Architecture& architecture_of(const Program& program, const TimelineOptions& options) {
  return options.architecture != nullptr ? *options.architecture : *program.architecture;
}

/// Simulated time of `program`. Deterministic. `log` must come from a run of a program whose
/// control depends on data; without it (timing only) the loops' and descriptors' upper bounds
/// count; a loop that has none runs as LoopForecast says, or is a KernelError. The cores of a
/// program run on one clock and meet at core_barrier and sendrecv (device/timeline/peer.h); each
/// has its own engines, queues and DMA engines. KernelError when they deadlock.
Timing simulate(const Program& program, const ControlLog& log = {},
                const TimelineOptions& options = {});

}  // namespace neuron_sim
