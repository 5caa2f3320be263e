#include "device/timeline/core_walk.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

int64_t LogReader::next(int64_t otherwise) {
  if (log_.values.empty()) return otherwise;
  require(position_ < log_.values.size(), "the control log fits the program");
  return log_.values[position_++];
}

CoreWalk::CoreWalk(const Program& program, size_t core, LogReader& log,
                   const TimelineOptions& options)
    : program_(program),
      log_(log),
      options_(options),
      architecture_(architecture_of(program, options)),
      state_(program, architecture_, options.starts_warm, options.clock_phase),
      program_accesses_(program, core, state_.pending),
      skip_(program, state_, timing_),
      forecast_(program, options.dynamic_trips ? options.dynamic_trips : assumed_trips()) {
  timing_.dma_engines = state_.dma.engines();
  if (options.observer != nullptr) state_.dma.keep_shares();
  if (!skips_loops()) state_.tensor.clock().keep_no_history();
  for (const Demand& demand : program.demands) {
    const auto& [load, multiply] = demand.steps;
    matmuls_.push_back(demand.count == 2 ? state_.tensor.work(load, multiply) : MatmulWork{});
  }
  for (const Edge& edge : program.edges) producers_[edge.producer] = {};
  has_edges_or_observer_ = !producers_.empty() || options.observer != nullptr;
}

void CoreWalk::await_registers(const Loop& loop) {
  const auto owner = static_cast<size_t>(loop.engine);
  state_.hold_all_until(state_.registers_ready[owner] + state_.semaphores.largest());
}

int64_t CoreWalk::trip_count(const Loop& loop) {
  if (loop.kind == LoopKind::kWhile) return kUnbounded;
  if (loop.register_index < 0) return loop.trip_count;
  await_registers(loop);
  if (loop.kind == LoopKind::kRange && !log_.is_present()) return forecast_.trips(loop);
  return log_.next(loop.bound);
}

bool CoreWalk::continues(const Loop& loop, int64_t iteration) {
  await_registers(loop);
  return log_.is_present() ? log_.next(0) != 0 : forecast_.continues(loop, iteration);
}

Timing CoreWalk::finish() {
  timing_.body = state_.last;
  for (const auto& accesses : state_.pending) {
    timing_.widened_accesses += accesses.history().widened();
  }
  timing_.cores = {{timing_.body, waiting_, timing_.dma_busy, timing_.busy, timing_.instructions}};
  return timing_;
}

void CoreWalk::gather_edges(const Instruction& instruction, Waits& waits) {
  const auto index = static_cast<uint32_t>(&instruction - program_.instructions.data());
  for (const Edge& edge : edges_of(program_, index)) {
    const Producer& producer = producers_.at(edge.producer);
    // An engine keeps the order of its own instructions without a semaphore.
    if (producer.slot == slot_of(instruction.engine)) continue;
    if (state_.semaphores.known(instruction.engine, producer.slot, producer.done)) continue;
    waits.need(producer.slot, producer.done);
  }
}

void CoreWalk::complete_producer(const Instruction& instruction, Slot slot, Picoseconds done) {
  const auto found =
      producers_.find(static_cast<uint32_t>(&instruction - program_.instructions.data()));
  if (found != producers_.end()) found->second = {slot, done};
}

Picoseconds CoreWalk::wait(uint32_t index, Slot own, Picoseconds ready) {
  const Instruction& instruction = program_.instructions[index];
  Waits waits;
  if (!producers_.empty()) gather_edges(instruction, waits);
  for (const OperandAccess& access : accesses_) {
    if (access.pending == nullptr) continue;
    access.pending->gather(access.region, access.reads, access.writes, own, state_.semaphores,
                           waits);
  }
  if (!has_semaphore(index, own)) waits.need(own, state_.queue(own).next_free());
  const Picoseconds start = state_.semaphores.start(instruction.engine, waits, ready);
  if (options_.observer != nullptr) notify_instance(index, waits, ready, start);
  for (const Span& event : state_.semaphores.events()) {
    const Unit unit = program_.demands[instruction.demand].steps[0].unit;
    report(index, EventKind::kWait, unit, event);
  }
  return start;
}

void CoreWalk::matmul(uint32_t index, const Instruction& instruction) {
  // All waits stand on the load, also those for the moving operand and the destination: in none of
  // the trn2 traces does a MATMUL wait for a semaphore.
  const EngineKind tensor = EngineKind::kTensor;
  TensorEngine& engine = state_.tensor;
  const Picoseconds front = std::max(state_.pipeline(tensor).next_issue(), engine.front());
  const Picoseconds ready = await(index, slot_of(tensor), front);
  const bool event = !state_.semaphores.events().empty();
  const Demand& demand = program_.demands[instruction.demand];
  const MatmulWork& work = matmuls_[instruction.demand];
  const Operand& stationary = program_.operands[instruction.first_operand + 1];
  const Location& place = accesses_[1].location;
  LoadedWeights weights{.tile = place.tile,
                        .offset = place.offset,
                        .columns = demand.steps[0].elements,
                        .partition = place.partition,
                        .rows = stationary.partitions};
  Picoseconds done{};
  for (int64_t pair = 0; pair < work.pairs; ++pair) {
    weights.pair = static_cast<int32_t>(pair);
    const auto number = static_cast<uint8_t>(pair);
    const Span load = engine.load(work, weights, ready, event && pair == 0);
    const Span multiply = engine.multiply(work);
    const Picoseconds streamed = engine.streamed();
    busy(tensor) += streamed;
    if (options_.observer != nullptr) report_pair(index, number, load, multiply, streamed);
    done = multiply.done;
  }
  // An address in a register may name other weights each time.
  if (stationary.register_index >= 0) engine.forget(weights.tile);
  timing_.multiply_accumulates += demand.multiply_accumulates;
  complete(instruction, slot_of(tensor), done);
}

Span CoreWalk::start_transfer(uint32_t index, const Step& step, Picoseconds ready) {
  const EngineKind engine = program_.instructions[index].engine;
  const bool software = step.descriptors == DescriptorKind::kSoftware;
  if (software) ready = std::max(ready, architecture_.launch.software_descriptors);
  ElementwiseEngine& unit = state_.pipeline(engine);
  const Picoseconds duration = state_.dma.trigger(step);
  const Picoseconds free = unit.next_issue();
  const Span held = software ? unit.occupy(ready, duration) : unit.dispatch(ready, duration);
  const Picoseconds own = std::max(held.end - std::max(held.start, free), Picoseconds{});
  busy(engine) += own;  // what the pipeline did meanwhile counts once
  if (software) report(index, EventKind::kGeneration, Unit::kDma, held);
  report(index, EventKind::kTrigger, Unit::kDma, state_.dma.instruction(step, held), {.busy = own});
  return held;
}

bool CoreWalk::is_in_hbm(const Instruction& instruction) const {
  const auto operands = program_.operands_of(instruction);
  return std::any_of(operands.begin(), operands.end(),
                     [](const Operand& operand) { return operand.memory == MemoryKind::kHbm; });
}

void CoreWalk::transfer(uint32_t index, const Instruction& instruction, Step step) {
  const EngineKind engine = instruction.engine;
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = program_.operands[instruction.first_operand + i];
    // The log counts rows; each row of the operand may need several descriptors.
    if (!operand.indirect) continue;
    step.elements = step.elements / operand.partitions * log_.next(operand.partitions);
    break;  // dma_compute has two indirect operands with the same rows
  }
  const bool software = step.descriptors == DescriptorKind::kSoftware;
  const Picoseconds free = software ? state_.next_issue(engine) : state_.next_dispatch(engine);
  const Picoseconds ready = await(index, queue_of(engine), free);
  const Span trigger = start_transfer(index, step, ready);
  const Picoseconds before = state_.dma.busy();
  const Span transfer =
      state_.dma.transfer(step, engine, trigger.start, trigger.end, is_in_hbm(instruction));
  timing_.dma_busy += state_.dma.busy() - before;
  ++timing_.dma_transfers;
  timing_.dma_bytes += step.bytes * step.elements;
  report_transfer(index, transfer, step.bytes * step.elements);
  complete(instruction, queue_of(engine), transfer.done);
}

MemoryAccess CoreWalk::accesses(const Instruction& instruction) const {
  MemoryAccess access;
  for (const Operand& operand : program_.operands_of(instruction)) {
    access.sbuf |= operand.memory == MemoryKind::kSbuf;
    access.psum |= operand.memory == MemoryKind::kPsum;
  }
  return access;
}

void CoreWalk::pipeline(uint32_t index, const Instruction& instruction, const Step& step) {
  const EngineKind engine = instruction.engine;
  const Picoseconds ready = await(index, slot_of(engine), state_.next_issue(engine));
  ElementwiseEngine& unit = state_.pipeline(engine);
  Span span;
  if (step.unit == Unit::kSequencer) {
    const auto steps = static_cast<double>(step.elements);
    span = unit.occupy(ready, unit.clock().duration(steps * unit.timing().minimum_cycles));
    // A virtual register is one of every sequencer; that they get its value together is assumed.
    for (size_t other = 0; other < kEngineCount; ++other) {
      const bool own = other == static_cast<size_t>(engine);
      if (own || !instruction.engine_given) state_.registers_ready[other] = span.done;
    }
    if (!log_.is_present()) forecast_.pass(instruction);
  } else {
    span = state_.ports.grant(engine, step, accesses(instruction), unit.run(step, ready));
    unit.hold_pipeline_until(span.end);
    const Span& table = unit.table_load();
    if (table.end > table.start) report(index, EventKind::kTableLoad, step.unit, table);
  }
  const Picoseconds working = span.end - span.start;
  report(index, EventKind::kStep, step.unit, span, {.busy = working});
  busy(engine) += working;
  complete(instruction, slot_of(engine), span.done);
}

void CoreWalk::await_addresses(const Instruction& instruction) {
  for (const Operand& operand : program_.operands_of(instruction)) {
    if (operand.register_index < 0) continue;
    state_.pipeline(instruction.engine)
        .hold_until(state_.registers_ready[static_cast<size_t>(instruction.engine)]);
  }
}

void CoreWalk::instruction(uint32_t index, const int64_t* variables) {
  const Instruction& instruction = program_.instructions[index];
  begin(index, variables);
  const Demand& demand = program_.demands[instruction.demand];
  switch (demand.steps[0].unit) {
    case Unit::kLoadStationary:
    case Unit::kMultiplyMoving: matmul(index, instruction); break;
    case Unit::kDma: transfer(index, instruction, demand.steps[0]); break;
    case Unit::kElementwise:
    case Unit::kSequencer: pipeline(index, instruction, demand.steps[0]); break;
    case Unit::kCollective: collective(index, instruction, demand.steps[0]); break;
    case Unit::kBarrier:
    case Unit::kGpSimdDma: require(false, "cores meet at their synchronisations");
  }
}

Picoseconds CoreWalk::arrive(uint32_t index, const int64_t* variables) {
  const Instruction& instruction = program_.instructions[index];
  begin(index, variables);
  const EngineKind engine = instruction.engine;
  const Slot own = triggers_dma(instruction) ? queue_of(engine) : slot_of(engine);
  return await(index, own, state_.next_issue(engine));
}

}  // namespace neuron_sim
