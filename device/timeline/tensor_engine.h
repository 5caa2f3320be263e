#pragma once
// TensorE: LoadStationary and MultiplyMoving are two queues of one engine.

#include <array>

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
  int32_t partition = 0;
  int32_t rows = 0;
  bool operator==(const LoadedWeights&) const = default;
};

/// Formulas: timing_findings.md section 2 (trn2, measured) and 5 (generation 2).
///
/// Instructions issue in order. Matmuls on disjoint tiles of the array (Step::array) overlap: each
/// tile has its own weights and its own queue, the loads share one path. Where the chip transposes
/// in the background, a transpose takes the array or a second queue beside it, whichever is free
/// first. Both are documented as concurrent; that they do not slow each other down is assumed.
class TensorEngine {
 public:
  TensorEngine(const Architecture& architecture, bool starts_warm, Picoseconds clock_phase = {});

  /// Loads weights; `ready`: the stationary operand is there. Nothing happens when these weights
  /// are loaded (span of length zero).
  Span load(const Step& step, const LoadedWeights& weights, Picoseconds ready);
  /// Streams the moving operand through what `load` has just been called for; `ready`: operands
  /// and destination are free.
  Span multiply(const Step& step, Picoseconds ready);
  /// Someone wrote to the tile the weights came from.
  void forget(TileId tile);

  /// No later instruction of this engine starts before this time.
  Picoseconds next_issue() const;
  PeClock& clock() { return clock_; }
  void hold_until(Picoseconds time);
  void visit(StateVisitor& visitor);

 private:
  /// One queue of multiplies and the weights they use.
  struct Lane {
    LoadedWeights weights;
    Picoseconds next_slot{};      // a multiply may start
    Picoseconds weights_ready{};  // loaded weights may be multiplied with
    void visit(StateVisitor& visitor);
  };

  double load_cycles(const Step& step) const;
  double multiply_cycles(const Step& step) const;
  void divide();
  template <typename Visit>
  void each_lane(const ArrayTile& tile, Visit visit);
  Lane gather(const ArrayTile& tile);
  void scatter(const ArrayTile& tile, const Lane& lane);
  Picoseconds stream(Picoseconds start, double cycles);

  static constexpr int kTilesPerEdge = 4;

  const TensorTiming& timing_;
  bool hidden_;
  bool has_background_;
  int64_t tile_edge_;  // rows and columns of one lane's part of the array
  PeClock clock_;
  // Lane 0 stands for the whole array until a matmul on a tile of it comes along.
  std::array<Lane, static_cast<size_t>(kTilesPerEdge* kTilesPerEdge)> lanes_;
  bool divided_ = false;
  Lane background_;
  bool in_background_ = false;  // where the last load went
  Picoseconds next_load_{};     // a load may start
  Picoseconds last_start_{};    // of a multiply
};

}  // namespace neuron_sim
