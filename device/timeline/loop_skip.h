#pragma once
// Steady loops: when the whole state of a core at an iteration boundary is that of an earlier
// boundary moved by a constant time, the remaining iterations only move it further.

#include <cstdint>
#include <vector>

#include "device/timeline/core_state.h"

namespace neuron_sim {

/// Recognises steady loops of one core. Exact: a time either moves by the same amount in every
/// period, or is so old that it cannot delay any engine the loop uses.
class LoopSkip {
 public:
  LoopSkip(const Program& program, CoreState& state, Timing& timing);

  /// Called before each iteration. Returns how many iterations to leave out; the state and the
  /// counters then stand as if they had been walked.
  int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips);

 private:
  struct Snapshot {
    int64_t iteration = -1;
    std::vector<int64_t> times, structure, counters;
  };
  struct LoopFacts {
    bool allowed = true;               // nothing in the loop depends on data
    bool worth_it = true;
    std::vector<EngineKind> engines;   // that the loop's instructions use
    int64_t failures = 0;
    int64_t wait = 0;                  // iterations to let pass before the next snapshot
    Snapshot snapshot;
  };

  void gather(const Block& block, LoopFacts& facts) const;
  LoopFacts& facts_of(const Loop& loop, uint32_t index);
  void take(Snapshot& snapshot, int64_t iteration);
  bool moved_by_constant(const LoopFacts& facts, Picoseconds& period);
  void move(const LoopFacts& facts, Picoseconds period, int64_t periods);
  std::vector<int64_t*> counters();

  const Program& program_;
  CoreState& state_;
  Timing& timing_;
  StateVisitor visitor_;
  std::vector<LoopFacts> loops_;
  std::vector<bool> known_;
};

}  // namespace neuron_sim
