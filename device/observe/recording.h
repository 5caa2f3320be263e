#pragma once
// One run as it happened: every step, wait, transfer and tile life, with what caused each step.
// Traces, pages and reports are views of it.

#include <cstdint>
#include <vector>

#include "device/observe/launch_phases.h"
#include "device/observe/tile_life.h"
#include "device/program/control_log.h"
#include "device/program/program.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {

/// No event, no wait.
inline constexpr uint32_t kNoIndex = UINT32_MAX;

/// What let an event start when it did.
enum class CauseKind : uint8_t {
  kStart,      ///< nothing: the program's start
  kEngine,     ///< its engine was at work on the causing event
  kSemaphore,  ///< it waited for the completion of the causing event
  kIssue,      ///< it follows from the causing event: weights loaded, transfer triggered
  kQueue,      ///< its DMA ring was at work on the causing transfer
};

/// A step, and what it waited for in the end.
struct RecordedEvent {
  StepEvent step;
  uint32_t instance = 0;      ///< index into Recording::instances
  uint32_t cause = kNoIndex;  ///< an earlier event
  CauseKind cause_kind = CauseKind::kStart;
};

/// A completion that an instance waited for.
struct RecordedWait {
  uint32_t event = kNoIndex;  ///< that completed; none for one that the walk cannot name
  Awaited awaited;
};

/// One execution of an instruction. Its waits and locations begin at `first_*` and end where those
/// of the next instance begin.
struct RecordedInstance {
  uint32_t instruction = 0;
  uint8_t core = 0;
  Picoseconds ready{};        ///< its engine could take it: it waits since then
  Picoseconds start{};        ///< what it waited for was there
  uint32_t bound = kNoIndex;  ///< the wait that was over last, if that was after `ready`
  uint32_t first_wait = 0;
  uint32_t first_location = 0;
};

/// The part of a DMA engine in a transfer.
struct RecordedShare {
  uint32_t event = 0;  ///< the transfer
  DmaShare share;
};

/// A run. Times count from the start of the body; `phases` says where that lies in a launch.
struct Recording {
  const Program* program = nullptr;  ///< must outlive the recording
  const Architecture* architecture = nullptr;
  Timing timing;
  LaunchPhases phases;
  std::vector<RecordedEvent> events;  ///< in the order of the walk
  std::vector<RecordedInstance> instances;
  std::vector<RecordedWait> waits;
  std::vector<Location> locations;  ///< of each instance's operands; of absent ones any
  std::vector<RecordedShare> shares;
  std::vector<TileLife> lives;  ///< tiles of SBUF and PSUM, by start

  std::span<const RecordedWait> waits_of(size_t instance) const;
  std::span<const Location> locations_of(size_t instance) const;
  const Instruction& instruction_of(const RecordedEvent& event) const {
    return program->instructions[event.step.instruction];
  }
};

/// Simulates the program with a recorder; every loop is walked in full. Errors as simulate().
/// Options other than the observer count.
Recording record(const Program& program, const ControlLog& log = {}, TimelineOptions options = {});

}  // namespace neuron_sim
