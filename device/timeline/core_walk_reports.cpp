// CoreWalk: what it tells an observer.

#include "device/timeline/core_walk.h"

namespace neuron_sim {

void CoreWalk::notify(uint32_t index, EventKind kind, Unit unit, const Span& span,
                      const Details& details) {
  const Instruction& instruction = program_.instructions[index];
  options_.observer->step(program_, {index, instruction.core, unit, instruction.engine, kind,
                                     details.pair, span, details.bytes, details.busy});
}

void CoreWalk::report_pair(uint32_t index, uint8_t pair, const Span& load, const Span& multiply,
                           Picoseconds streamed) {
  if (load.done > load.start) {
    notify(index, EventKind::kStep, Unit::kLoadStationary, load, {.pair = pair});
  }
  notify(index, EventKind::kStep, Unit::kMultiplyMoving, multiply,
         {.busy = streamed, .pair = pair});
}

void CoreWalk::report_transfer(uint32_t index, const Span& transfer, int64_t bytes) {
  if (options_.observer == nullptr) return;
  notify(index, EventKind::kTransfer, Unit::kDma, transfer, {.bytes = bytes});
  options_.observer->shares(program_, state_.dma.shares());
}

void CoreWalk::notify_instance(uint32_t index, const Waits& waits, Picoseconds ready,
                               Picoseconds start) {
  const Instruction& instruction = program_.instructions[index];
  std::array<Awaited, Waits::kMaximum> awaited;
  for (size_t i = 0; i < waits.count(); ++i) {
    awaited[i] = {waits.producer(i), waits.completion(i), state_.semaphores.released(i)};
  }
  std::array<Location, kMaximumOperands> locations{};
  for (const OperandAccess& access : accesses_) locations[access.operand] = access.location;
  options_.observer->instance(program_,
                              {index, instruction.core, instruction.engine, ready, start,
                               std::span(awaited.data(), waits.count()),
                               std::span(locations.data(), size_t{instruction.operand_count})});
}

}  // namespace neuron_sim
