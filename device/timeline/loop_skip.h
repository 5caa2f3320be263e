#pragma once
// Steady loops: when the whole state of a core at an iteration boundary is the state at an earlier
// boundary moved by a constant time, the remaining iterations only move it further.

#include <cstdint>
#include <vector>

#include "device/timeline/core_state.h"

namespace neuron_sim {

/// Recognises steady loops of one core. Exact: every number of the state is the same, every time
/// either moves by the same amount in every period, or is so old that it cannot delay any engine
/// the loop uses; the PE clock keeps its state wherever its windows begin; and no address that the
/// state depends on follows the loop's variable (but for the turns of rings, see Loop::period).
class LoopSkip {
 public:
  LoopSkip(const Program& program, CoreState& state, Timing& timing);

  /// Called before each iteration. Returns how many iterations to leave out; the state and the
  /// counters then stand as if they had been walked.
  int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips);

 private:
  struct Snapshot {
    int64_t iteration = -1;
    Picoseconds clock_busy_until{};
    int64_t widened = 0;
    std::vector<int64_t> times, structure, counters, clock_edges;
  };
  struct LoopFacts {
    bool known = false;
    bool allowed = true;              // no time in the loop depends on data or on its variable
    std::vector<EngineKind> engines;  // that the loop's instructions use
    int64_t failed_entries = 0;       // times the loop ran without becoming steady
    int64_t next = 0;                 // iteration of the next comparison
    int64_t retake = 0;               // iteration from which the snapshot is replaced
    Snapshot snapshot;
  };

  void gather(const Block& block, int32_t level, LoopFacts& facts) const;
  bool follows_variable(const Operand& operand, int32_t level) const;
  LoopFacts& facts_of(const Loop& loop, uint32_t index);
  void take(Snapshot& snapshot, int64_t iteration);
  bool moved_by_constant(const LoopFacts& facts, Picoseconds& period);
  bool clock_is_steady(const Snapshot& before, Picoseconds period);
  void move(const LoopFacts& facts, Picoseconds period, int64_t periods);
  std::vector<int64_t*> counter_places();
  int64_t widened() const;

  const Program& program_;
  CoreState& state_;
  Timing& timing_;
  StateVisitor visitor_;
  std::vector<int64_t> clock_edges_;
  std::vector<LoopFacts> loops_;
};

}  // namespace neuron_sim
