#pragma once
// Everything the timeline remembers between two instructions of one core.

#include <array>
#include <vector>

#include "device/program/program.h"
#include "device/timeline/engines/dma_engines.h"
#include "device/timeline/engines/elementwise_engine.h"
#include "device/timeline/engines/semaphores.h"
#include "device/timeline/engines/shared_ports.h"
#include "device/timeline/engines/tensor_engine.h"
#include "device/timeline/pending_accesses.h"
#include "device/timeline/timing.h"

namespace neuron_sim {

/// Units, queues and access histories. `visit` shows all of it (the PE clock's phase apart).
struct CoreState {
  CoreState(const Program& program, const Architecture& architecture, bool starts_warm,
            Picoseconds clock_phase);

  Picoseconds next_issue(EngineKind engine) const;
  /// When a DMA trigger may issue: it needs the engine's sequencer only, but all of TensorE.
  Picoseconds next_dispatch(EngineKind engine) const;
  ElementwiseEngine& pipeline(EngineKind engine) { return pipelines[static_cast<size_t>(engine)]; }
  /// The semaphores of the queue that an engine feeds.
  QueueSemaphores& queue(Slot slot) { return queues[static_cast<size_t>(engine_of(slot))]; }
  void hold_all_until(Picoseconds time);
  void visit(StateVisitor& visitor);

  TensorEngine tensor;
  std::array<ElementwiseEngine, kEngineCount> pipelines;  // index kTensor: DMA triggers only
  DmaEngines dma;
  SharedPorts ports;
  Semaphores semaphores;
  std::vector<QueueSemaphores> queues;   // by the engine that feeds the queue
  std::vector<PendingAccesses> pending;  // by hazard group
  std::array<Picoseconds, kEngineCount> registers_ready{};
  Picoseconds collectives_end{};  // of the last one; they run one after the other
  Picoseconds last{};             // latest completion so far
};

}  // namespace neuron_sim
