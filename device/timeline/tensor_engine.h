#pragma once
// TensorE: LoadStationary and MultiplyMoving are two queues of one engine.

#include "device/isa/demand.h"
#include "device/program/program.h"
#include "device/timeline/pe_clock.h"
#include "device/timeline/state_visitor.h"

namespace neuron_sim {

/// When one step occupies its unit and when its result is visible.
struct Span {
  Picoseconds start{};  ///< issue
  Picoseconds end{};    ///< the unit is free for the next instruction
  Picoseconds done{};   ///< the result is visible to others
};

/// What the array holds, so that a multiply with the same weights needs no load.
struct LoadedWeights {
  TileId tile = kNoTile;
  int64_t offset = -1;
  int64_t columns = 0;
  bool operator==(const LoadedWeights&) const = default;
};

/// Formulas: timing_findings.md section 2 (trn2, measured) and 5 (generation 2).
class TensorEngine {
 public:
  TensorEngine(const Architecture& architecture, bool starts_warm)
      : timing_(architecture.tensor),
        hidden_(architecture.features.hidden_weight_load),
        clock_(architecture, starts_warm) {}

  /// Loads weights; `ready`: the stationary operand is there. Nothing happens when these weights
  /// are loaded (span of length zero).
  Span load(const Step& step, const LoadedWeights& weights, Picoseconds ready);
  /// Streams the moving operand; `ready`: operands and destination are free.
  Span multiply(const Step& step, Picoseconds ready);
  /// Someone wrote to the tile the weights came from.
  void forget(TileId tile) {
    if (weights_.tile == tile) weights_ = {};
  }

  /// No later instruction of this engine starts before this time.
  Picoseconds next_issue() const { return std::min(next_load_, next_slot_); }
  PeClock& clock() { return clock_; }
  void hold_until(Picoseconds time) {
    next_load_ = std::max(next_load_, time);
    next_slot_ = std::max(next_slot_, time);
  }
  void visit(StateVisitor& visitor);

 private:
  double load_cycles(const Step& step) const;
  double multiply_cycles(const Step& step) const;

  const TensorTiming& timing_;
  bool hidden_;
  PeClock clock_;
  LoadedWeights weights_;
  Picoseconds next_load_{};      // a load may start
  Picoseconds next_slot_{};      // a multiply may start
  Picoseconds weights_ready_{};  // loaded weights may be multiplied with
};

}  // namespace neuron_sim
