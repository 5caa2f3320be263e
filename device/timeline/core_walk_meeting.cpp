// CoreWalk: one core's part of core_barrier and sendrecv, and of collectives between ranks.

#include "device/timeline/collective_time.h"
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
  const Span span = state_.dma.transfer(step, instruction.engine, start,
                                        std::max(start, trigger.end), /*in_hbm=*/false);
  timing_.dma_busy += state_.dma.busy() - before;
  ++timing_.dma_transfers;
  timing_.dma_bytes += step.bytes * step.elements;
  return span;
}

void CoreWalk::receive(uint32_t index, Span transfer, Picoseconds done) {
  const Instruction& instruction = program_.instructions[index];
  const Step& step = program_.demands[instruction.demand].steps[0];
  transfer.done = done;
  report_transfer(index, transfer, step.bytes * step.elements);
  complete(instruction, queue_of(instruction.engine), done);
}

void CoreWalk::hold(uint32_t index, Picoseconds ready, Picoseconds end, Picoseconds working) {
  const Instruction& instruction = program_.instructions[index];
  const Span span = state_.pipeline(instruction.engine).occupy(ready, end - ready);
  report(index, EventKind::kStep, program_.demands[instruction.demand].steps[0].unit, span,
         {.busy = working});
  busy(instruction.engine) += working;
  waiting_ += end - ready - working;
  complete(instruction, slot_of(instruction.engine), end);
}

void CoreWalk::collective(uint32_t index, const Instruction& instruction, const Step& step) {
  const EngineKind engine = instruction.engine;
  const Picoseconds ready = await(index, queue_of(engine), state_.next_issue(engine));
  const Picoseconds working = architecture_.collective.trigger;
  const Span trigger = state_.pipeline(engine).occupy(ready, working);
  busy(engine) += working;
  report(index, EventKind::kTrigger, Unit::kCollective, trigger, {.busy = working});
  Span span;
  span.start = std::max(trigger.end, state_.collectives_end);
  span.end = span.done = span.start + collective_time(program_, instruction, architecture_);
  state_.collectives_end = span.end;
  report(index, EventKind::kTransfer, Unit::kCollective, span, {.bytes = step.bytes});
  complete(instruction, queue_of(engine), span.done);
}

}  // namespace neuron_sim
