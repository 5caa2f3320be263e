#include "device/timeline/core_walk.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

int64_t LogReader::next(int64_t otherwise) {
  if (log_.values.empty()) return otherwise;
  require(position_ < log_.values.size(), "the control log fits the program");
  return log_.values[position_++];
}

CoreWalk::CoreWalk(const Program& program, LogReader& log, const TimelineOptions& options)
    : program_(program),
      log_(log),
      options_(options),
      architecture_(architecture_of(program, options)),
      state_(program, architecture_, options.starts_warm, options.clock_phase),
      skip_(program, state_, timing_),
      forecast_(program, options.dynamic_trips ? options.dynamic_trips : assumed_trips()) {
  timing_.dma_engines = state_.dma.engines();
  if (options.observer != nullptr) state_.dma.keep_shares();
  for (const Tile& tile : program.tiles) {
    const auto group = static_cast<size_t>(tile.hazard_group);
    history_of_tile_.push_back(tile.hazard_group < 0 ? nullptr : &state_.histories[group]);
  }
  for (const Demand& demand : program.demands) {
    const auto& [load, multiply] = demand.steps;
    matmuls_.push_back(demand.count == 2 ? state_.tensor.work(load, multiply) : MatmulWork{});
  }
  for (const Edge& edge : program.edges) producers_[edge.producer] = {};
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
  for (const auto& history : state_.histories) timing_.widened_accesses += history.widened();
  timing_.cores = {{timing_.body, waiting_, timing_.dma_busy, timing_.busy, timing_.instructions}};
  return timing_;
}

void CoreWalk::gather_waits(const Instruction& instruction, size_t operand, Waits& waits) {
  const Operand& access = program_.operands[instruction.first_operand + operand];
  const Unit unit = program_.demands[instruction.demand].steps[0].unit;
  const bool dma = unit == Unit::kDma || unit == Unit::kCollective;  // its engine goes on
  const Slot own = slot_of(instruction.engine);
  const auto delays = [&](const HistoryEntry<Completion>& entry, bool is_write) {
    if (entry.slot == own && !dma) {
      // In order on one engine: only a read after a write waits, and TensorE accumulates in PSUM
      // without a wait.
      if (own == slot_of(EngineKind::kTensor)) return false;
      if (!is_write || !access.reads()) return false;
    }
    return !state_.semaphores.known(instruction.engine, entry.slot, entry.stamp.time);
  };
  histories_[operand]->collect(regions_[operand], access.reads(), access.writes(), delays,
                               [&](const HistoryEntry<Completion>& entry, bool) {
                                 waits.need(entry.slot, entry.stamp.time);
                               });
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

Waits CoreWalk::all_waits(const Instruction& instruction) {
  Waits waits;
  if (!producers_.empty()) gather_edges(instruction, waits);
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    if (histories_[i] != nullptr) gather_waits(instruction, i, waits);
  }
  return waits;
}

void CoreWalk::complete(const Instruction& instruction, Slot slot, Picoseconds done) {
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const Operand& operand = program_.operands[instruction.first_operand + i];
    if (!operand.present()) continue;
    if (operand.writes()) state_.tensor.forget(locations_[i].tile);
    if (histories_[i] != nullptr) {
      histories_[i]->record(regions_[i], operand.writes(), slot, {done});
    }
  }
  state_.last = std::max(state_.last, done);
  if (producers_.empty()) return;
  const auto found =
      producers_.find(static_cast<uint32_t>(&instruction - program_.instructions.data()));
  if (found != producers_.end()) found->second = {slot, done};
}

Picoseconds CoreWalk::wait(uint32_t index, const Waits& waits, Picoseconds ready) {
  const Instruction& instruction = program_.instructions[index];
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
  const Picoseconds ready = wait(index, all_waits(instruction), front);
  const bool event = !state_.semaphores.events().empty();
  const Demand& demand = program_.demands[instruction.demand];
  const MatmulWork& work = matmuls_[instruction.demand];
  const Operand& stationary = program_.operands[instruction.first_operand + 1];
  LoadedWeights weights{locations_[1].tile, locations_[1].offset, demand.steps[0].elements,
                        locations_[1].partition, stationary.partitions};
  Picoseconds done{};
  for (int64_t pair = 0; pair < work.pairs; ++pair) {
    weights.pair = static_cast<int32_t>(pair);
    const auto number = static_cast<uint8_t>(pair);
    const Span load = engine.load(work, weights, ready, event && pair == 0);
    if (load.done > load.start) {
      report(index, EventKind::kStep, Unit::kLoadStationary, load, {.pair = number});
    }
    const Span multiply = engine.multiply(work);
    const Picoseconds streamed = engine.streamed();
    report(index, EventKind::kStep, Unit::kMultiplyMoving, multiply,
           {.busy = streamed, .pair = number});
    busy(tensor) += streamed;
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
  const Picoseconds ready = wait(index, all_waits(instruction), free);
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
  const Picoseconds ready = wait(index, all_waits(instruction), state_.next_issue(engine));
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

void CoreWalk::resolve(const Instruction& instruction, const int64_t* variables) {
  // Register values move addresses, never times: operands with one have their whole tile as
  // region, so any value will do here.
  static constexpr int64_t kNoRegisters[64] = {};
  const Operand* operands = program_.operands.data() + instruction.first_operand;
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    histories_[i] = nullptr;
    if (!operands[i].present()) continue;
    locations_[i] = locate(program_, operands[i], variables, kNoRegisters);
    if (operands[i].register_index >= 0) {
      state_.pipeline(instruction.engine)
          .hold_until(state_.registers_ready[static_cast<size_t>(instruction.engine)]);
    }
    histories_[i] = history_of_tile_[static_cast<size_t>(locations_[i].tile)];
    if (histories_[i] == nullptr) continue;
    // Member by member: the processor waits for members just changed before it copies the whole.
    const auto [partition, partitions, low, run, stride, count, exact] =
        region_at(operands[i], locations_[i]);
    regions_[i] = {partition, partitions, low, run, stride, count, exact};
  }
  ++timing_.instances;
  ++timing_.instructions[static_cast<size_t>(instruction.engine)];
}

void CoreWalk::instruction(uint32_t index, const int64_t* variables) {
  const Instruction& instruction = program_.instructions[index];
  resolve(instruction, variables);
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
  resolve(instruction, variables);
  return wait(index, all_waits(instruction), state_.next_issue(instruction.engine));
}

}  // namespace neuron_sim
