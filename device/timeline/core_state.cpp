#include "device/timeline/core_state.h"

#include <algorithm>

#include "device/analysis/hazard_groups.h"

namespace neuron_sim {
namespace {

/// How many cores use one stack of HBM at the same time: the program's cores and, when the program
/// has collectives, the cores of neighbouring ranks, because ranks fill chips in order. The cores
/// of a logical core share a stack (nki.isa.core_barrier).
size_t cores_on_stack(const Program& program, const Architecture& architecture) {
  const auto own = static_cast<int64_t>(program.cores.size());
  int64_t busy = own;
  for (const auto& groups : program.replica_groups) {
    busy = std::max(busy, own * groups->largest_group());
  }
  return static_cast<size_t>(std::max(own, std::min(busy, architecture.limits.logical_cores)));
}

}  // namespace

CoreState::CoreState(const Program& program, const Architecture& architecture, bool starts_warm,
                     Picoseconds clock_phase)
    : tensor(architecture, starts_warm, clock_phase),
      pipelines{
          ElementwiseEngine{architecture.sync, architecture.rates, architecture.clocks.tensor},
          ElementwiseEngine{architecture.vector, architecture.rates, architecture.clocks.vector},
          ElementwiseEngine{architecture.scalar, architecture.rates, architecture.clocks.scalar},
          ElementwiseEngine{architecture.gpsimd, architecture.rates, architecture.clocks.gpsimd},
          ElementwiseEngine{architecture.sync, architecture.rates, architecture.clocks.sync}},
      dma(architecture, cores_on_stack(program, architecture)),
      ports(architecture),
      semaphores(architecture),
      queues(kEngineCount, QueueSemaphores(architecture.semaphore.queue_set)),
      pending(histories_of_hazard_groups<PendingAccesses>(program)) {}

Picoseconds CoreState::next_issue(EngineKind engine) const {
  const Picoseconds pipeline = pipelines[static_cast<size_t>(engine)].next_issue();
  return engine == EngineKind::kTensor ? std::max(pipeline, tensor.next_issue()) : pipeline;
}

Picoseconds CoreState::next_dispatch(EngineKind engine) const {
  if (engine == EngineKind::kTensor) return next_issue(engine);
  return pipelines[static_cast<size_t>(engine)].next_dispatch();
}

void CoreState::hold_all_until(Picoseconds time) {
  tensor.hold_until(time);
  for (ElementwiseEngine& engine : pipelines) engine.hold_until(time);
}

void CoreState::visit(StateVisitor& visitor) {
  tensor.visit(visitor);
  for (ElementwiseEngine& engine : pipelines) engine.visit(visitor);
  dma.visit(visitor);
  ports.visit(visitor);
  semaphores.visit(visitor);
  for (QueueSemaphores& queue : queues) queue.visit(visitor);
  for (Picoseconds& time : registers_ready) visitor.time(time);
  visitor.time(collectives_end);
  visitor.time(last);
  for (PendingAccesses& accesses : pending) {
    TileHistory<Completion>& history = accesses.moved_history();
    for (auto* entries : {&history.reads(), &history.writes()}) {
      visitor.other(static_cast<int64_t>(entries->size()));
      for (auto& entry : *entries) {
        const Region& region = entry.region;
        for (const int64_t number :
             {int64_t{region.partition}, int64_t{region.partitions}, region.low, region.run,
              region.stride, int64_t{region.count}, int64_t{region.exact}, int64_t{entry.slot}}) {
          visitor.other(number);
        }
        visitor.time(entry.stamp.time);
      }
    }
  }
}

}  // namespace neuron_sim
