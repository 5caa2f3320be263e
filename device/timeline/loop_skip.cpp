#include "device/timeline/loop_skip.h"

#include <algorithm>

namespace neuron_sim {
namespace {

// A loop that was not steady this often will not become so.
constexpr int64_t kMaximumFailures = 12;
// Comparing states costs more than walking a loop shorter than this.
constexpr int64_t kMinimumTrips = 6;

}  // namespace

LoopSkip::LoopSkip(const Program& program, CoreState& state, Timing& timing)
    : program_(program),
      state_(state),
      timing_(timing),
      loops_(program.loops.size()),
      known_(program.loops.size()) {}

void LoopSkip::gather(const Block& block, LoopFacts& facts) const {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program_.loops[node.index];
      if (loop.register_index >= 0) facts.allowed = false;
      gather(loop.body, facts);
      continue;
    }
    const Instruction& instruction = program_.instructions[node.index];
    for (const Operand& operand : program_.operands_of(instruction)) {
      if (operand.indirect) facts.allowed = false;  // its descriptor count is in the log
    }
    if (std::find(facts.engines.begin(), facts.engines.end(), instruction.engine) ==
        facts.engines.end()) {
      facts.engines.push_back(instruction.engine);
    }
  }
}

LoopSkip::LoopFacts& LoopSkip::facts_of(const Loop& loop, uint32_t index) {
  LoopFacts& facts = loops_[index];
  if (!known_[index]) {
    known_[index] = true;
    gather(loop.body, facts);
  }
  return facts;
}

std::vector<int64_t*> LoopSkip::counters() {
  std::vector<int64_t*> result{&timing_.dma_busy.count, &timing_.dma_transfers,
                               &timing_.dma_bytes, &timing_.instances,
                               &timing_.multiply_accumulates};
  for (auto& busy : timing_.busy) result.push_back(&busy.count);
  for (auto& count : timing_.instructions) result.push_back(&count);
  return result;
}

void LoopSkip::take(Snapshot& snapshot, int64_t iteration) {
  visitor_.clear();
  state_.visit(visitor_);
  snapshot.iteration = iteration;
  snapshot.structure = visitor_.structure;
  snapshot.times.clear();
  for (const Picoseconds* time : visitor_.times) snapshot.times.push_back(time->count);
  snapshot.counters.clear();
  for (const int64_t* counter : counters()) snapshot.counters.push_back(*counter);
}

bool LoopSkip::moved_by_constant(const LoopFacts& facts, Picoseconds& period) {
  const Snapshot& before = facts.snapshot;
  visitor_.clear();
  state_.visit(visitor_);
  if (visitor_.structure != before.structure || visitor_.times.size() != before.times.size()) {
    return false;
  }
  // `last`, the latest completion, moves with the loop; engines move with it or stand still.
  Picoseconds horizon{INT64_MAX};
  for (const EngineKind engine : facts.engines) {
    horizon = std::min(horizon, state_.next_issue(engine));
  }
  period = {0};
  for (size_t i = 0; i < before.times.size(); ++i) {
    period.count = std::max(period.count, visitor_.times[i]->count - before.times[i]);
  }
  if (period.count == 0) return false;
  // Everything old must be settled already one period ago, so that it was out of reach all along.
  const Picoseconds settled = horizon - period - state_.semaphores.largest();
  for (size_t i = 0; i < before.times.size(); ++i) {
    const int64_t difference = visitor_.times[i]->count - before.times[i];
    if (difference == period.count) continue;
    if (difference == 0 && *visitor_.times[i] <= settled) continue;
    return false;
  }
  const Picoseconds since = state_.tensor.next_issue() - period;
  const bool uses_tensor = std::find(facts.engines.begin(), facts.engines.end(),
                                     EngineKind::kTensor) != facts.engines.end();
  return !uses_tensor || state_.tensor.clock().steady(since, period);
}

void LoopSkip::move(const LoopFacts& facts, Picoseconds period, int64_t periods) {
  const Picoseconds by = period * periods;
  for (size_t i = 0; i < visitor_.times.size(); ++i) {
    if (visitor_.times[i]->count != facts.snapshot.times[i]) *visitor_.times[i] += by;
  }
  const auto now = counters();
  for (size_t i = 0; i < now.size(); ++i) {
    *now[i] += (*now[i] - facts.snapshot.counters[i]) * periods;
  }
  const bool uses_tensor = std::find(facts.engines.begin(), facts.engines.end(),
                                     EngineKind::kTensor) != facts.engines.end();
  if (uses_tensor) state_.tensor.clock().shift(by);
}

int64_t LoopSkip::boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
  if (trips < kMinimumTrips) return 0;
  LoopFacts& facts = facts_of(loop, index);
  if (!facts.allowed || facts.failures > kMaximumFailures) return 0;
  if (iteration == 0) {
    facts.snapshot.iteration = -1;
    facts.wait = 0;
  }
  if (iteration % loop.period != 0 || iteration < facts.wait) return 0;
  const int64_t left = trips - iteration;
  Picoseconds period{};
  if (facts.snapshot.iteration >= 0) {
    const int64_t stride = iteration - facts.snapshot.iteration;
    const int64_t periods = left / stride;
    if (periods > 0 && moved_by_constant(facts, period)) {
      const int64_t before = timing_.instances;
      move(facts, period, periods);
      timing_.skipped_instances += timing_.instances - before;
      facts.snapshot.iteration = -1;
      facts.failures = 0;
      facts.wait = trips;
      return periods * stride;
    }
    ++facts.failures;
    facts.wait = iteration + stride * (facts.failures < 8 ? 1 : 4);
  }
  take(facts.snapshot, iteration);
  return 0;
}

}  // namespace neuron_sim
