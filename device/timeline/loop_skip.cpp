#include "device/timeline/loop_skip.h"

#include <algorithm>

namespace neuron_sim {
namespace {

// A loop that ran so often without becoming steady will not become so.
constexpr int64_t kMaximumFailedEntries = 8;
// Comparing states costs more than walking a loop shorter than this.
constexpr int64_t kMinimumTrips = 6;
// Comparisons between two replacements of the snapshot, at most.
constexpr int64_t kComparisons = 32;

}  // namespace

LoopSkip::LoopSkip(const Program& program, CoreState& state, Timing& timing)
    : program_(program), state_(state), timing_(timing), loops_(program.loops.size()) {}

bool LoopSkip::follows_variable(const Operand& operand, int32_t level) const {
  bool moves = false;
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    const Term& term = program_.terms[operand.first_term + i];
    moves = moves || (term.level == level && (term.offset_step != 0 || term.partition_step != 0));
  }
  if (!moves) return false;
  for (int32_t i = 0; i < operand.ring; ++i) {
    if (program_.tiles[static_cast<size_t>(operand.tile) + static_cast<size_t>(i)].hazard_group >=
        0)
      return true;
  }
  return false;
}

void LoopSkip::gather(const Block& block, int32_t level, LoopFacts& facts) const {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program_.loops[node.index];
      if (loop.register_index >= 0) facts.allowed = false;
      gather(loop.body, level, facts);
      continue;
    }
    // Steps towards the other core depend on its time too.
    if (node.kind == Node::Kind::kSynchronisation) facts.allowed = false;
    const Instruction& instruction = program_.instructions[node.index];
    // When a producer of a scheduling edge completed is no part of the compared state.
    if (!edges_of(program_, node.index).empty()) facts.allowed = false;
    for (const Operand& operand : program_.operands_of(instruction)) {
      // The descriptor count of an indirect transfer is in the log.
      if (operand.indirect || follows_variable(operand, level)) facts.allowed = false;
    }
    if (std::find(facts.engines.begin(), facts.engines.end(), instruction.engine) ==
        facts.engines.end()) {
      facts.engines.push_back(instruction.engine);
    }
  }
}

LoopSkip::LoopFacts& LoopSkip::facts_of(const Loop& loop, uint32_t index) {
  LoopFacts& facts = loops_[index];
  if (!facts.known) {
    facts.known = true;
    gather(loop.body, loop.level, facts);
  }
  return facts;
}

std::vector<int64_t*> LoopSkip::counter_places() {
  std::vector<int64_t*> result{&timing_.dma_busy.count, &timing_.dma_transfers, &timing_.dma_bytes,
                               &timing_.instances, &timing_.multiply_accumulates};
  for (auto& busy : timing_.busy) result.push_back(&busy.count);
  for (auto& count : timing_.instructions) result.push_back(&count);
  return result;
}

int64_t LoopSkip::widened() const {
  int64_t sum = timing_.widened_accesses;
  for (const auto& accesses : state_.pending) sum += accesses.history().widened();
  return sum;
}

void LoopSkip::take(Snapshot& snapshot, int64_t iteration) {
  visitor_.clear();
  state_.visit(visitor_);
  snapshot.iteration = iteration;
  snapshot.structure = visitor_.structure;
  snapshot.times.clear();
  for (const Picoseconds* time : visitor_.times) snapshot.times.push_back(time->count);
  snapshot.counters.clear();
  for (const int64_t* counter : counter_places()) snapshot.counters.push_back(*counter);
  snapshot.widened = widened();
  snapshot.clock_busy_until = state_.tensor.clock().busy_until();
  state_.tensor.clock().recent(snapshot.clock_edges);
}

bool LoopSkip::clock_is_steady(const Snapshot& before, Picoseconds period) {
  PeClock& clock = state_.tensor.clock();
  if (clock.busy_until() == before.clock_busy_until) return true;  // not used in the loop
  if (clock.busy_until() - before.clock_busy_until != period) return false;
  clock.recent(clock_edges_);
  // Equal times of one window's length before both boundaries: from there on all is periodic.
  return clock_edges_ == before.clock_edges && clock.settled_since(before.clock_busy_until);
}

bool LoopSkip::moved_by_constant(const LoopFacts& facts, Picoseconds& period) {
  const Snapshot& before = facts.snapshot;
  visitor_.clear();
  state_.visit(visitor_);
  if (visitor_.structure != before.structure || visitor_.times.size() != before.times.size()) {
    return false;
  }
  Picoseconds horizon{INT64_MAX};
  for (const EngineKind engine : facts.engines) {
    horizon = std::min(horizon, state_.next_dispatch(engine));
  }
  period = {0};
  for (size_t i = 0; i < before.times.size(); ++i) {
    period.count = std::max(period.count, visitor_.times[i]->count - before.times[i]);
  }
  if (period.count == 0) return false;
  // Everything old must be settled already one period ago, so that it was out of reach all along.
  const Picoseconds reach = std::max(state_.semaphores.largest(), state_.dma.memory_of_queues());
  const Picoseconds settled = horizon - period - reach;
  for (size_t i = 0; i < before.times.size(); ++i) {
    const int64_t difference = visitor_.times[i]->count - before.times[i];
    if (difference == period.count) continue;
    if (difference == 0 && *visitor_.times[i] <= settled) continue;
    return false;
  }
  return clock_is_steady(before, period);
}

void LoopSkip::move(const LoopFacts& facts, Picoseconds period, int64_t periods) {
  const Snapshot& before = facts.snapshot;
  const Picoseconds by = period * periods;
  for (size_t i = 0; i < visitor_.times.size(); ++i) {
    if (visitor_.times[i]->count != before.times[i]) *visitor_.times[i] += by;
  }
  const auto now = counter_places();
  for (size_t i = 0; i < now.size(); ++i) {
    *now[i] += (*now[i] - before.counters[i]) * periods;
  }
  timing_.widened_accesses += (widened() - before.widened) * periods;
  PeClock& clock = state_.tensor.clock();
  if (clock.busy_until() != before.clock_busy_until) clock.shift(by);
}

int64_t LoopSkip::boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
  if (trips < kMinimumTrips) return 0;
  LoopFacts& facts = facts_of(loop, index);
  if (!facts.allowed || facts.failed_entries > kMaximumFailedEntries) return 0;
  if (iteration == 0) {
    // The first period meets what came before the loop: it is never the pattern.
    facts.snapshot.iteration = -1;
    facts.next = facts.retake = loop.period;
    ++facts.failed_entries;
  }
  if (iteration < facts.next || iteration % loop.period != 0) return 0;
  if (facts.snapshot.iteration >= 0) {
    const int64_t stride = iteration - facts.snapshot.iteration;
    const int64_t periods = (trips - iteration) / stride;
    Picoseconds period{};
    if (periods > 0 && moved_by_constant(facts, period)) {
      const int64_t before = timing_.instances;
      move(facts, period, periods);
      timing_.skipped_instances += timing_.instances - before;
      facts.failed_entries = 0;
      facts.next = trips;
      return periods * stride;
    }
  }
  // The snapshot is replaced at doubling distances, so that any period is found in the end.
  if (iteration >= facts.retake) {
    take(facts.snapshot, iteration);
    facts.retake = iteration * 2;
  }
  facts.next =
      iteration + std::max<int64_t>(
                      (facts.retake - facts.snapshot.iteration) / (kComparisons * loop.period), 1) *
                      loop.period;
  return 0;
}

}  // namespace neuron_sim
