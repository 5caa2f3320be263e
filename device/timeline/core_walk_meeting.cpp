// CoreWalk: one core's part of core_barrier and sendrecv.

#include "device/timeline/core_walk.h"

namespace neuron_sim {

Span CoreWalk::trigger(uint32_t index, Picoseconds ready) {
  const Instruction& instruction = program_.instructions[index];
  const Step& step = program_.demands[instruction.demand].steps[0];
  return start_transfer(index, step, ready);
}

Span CoreWalk::send(uint32_t index, const Span& trigger, Picoseconds start) {
  const Instruction& instruction = program_.instructions[index];
  const Step& step = program_.demands[instruction.demand].steps[0];
  waiting_ += start - trigger.start;
  const Picoseconds before = state_.dma.busy();
  const Span span =
      state_.dma.transfer(step, instruction.engine, start, std::max(start, trigger.end));
  timing_.dma_busy += state_.dma.busy() - before;
  ++timing_.dma_transfers;
  timing_.dma_bytes += step.bytes * step.elements;
  return span;
}

void CoreWalk::receive(uint32_t index, Span transfer, Picoseconds done) {
  const Instruction& instruction = program_.instructions[index];
  const Step& step = program_.demands[instruction.demand].steps[0];
  transfer.done = done;
  report(index, EventKind::kTransfer, Unit::kDma, transfer, 0, step.bytes * step.elements);
  complete(instruction, queue_of(instruction.engine), done);
}

void CoreWalk::hold(uint32_t index, Picoseconds ready, Picoseconds end, Picoseconds working) {
  const Instruction& instruction = program_.instructions[index];
  const Span span = state_.pipeline(instruction.engine).occupy(ready, end - ready);
  report(index, EventKind::kStep, program_.demands[instruction.demand].steps[0].unit, span);
  busy(instruction.engine) += working;
  waiting_ += end - ready - working;
  complete(instruction, slot_of(instruction.engine), end);
}

}  // namespace neuron_sim
