#pragma once
// TensorE: LoadStationary and MultiplyMoving are two queues of one engine.

#include <array>

#include "device/instruction/demand.h"
#include "device/program/program.h"
#include "device/timeline/pe_clock.h"
#include "device/timeline/span.h"
#include "device/timeline/state_visitor.h"

namespace neuron_sim {

/// What the array holds, so that a multiply with the same weights needs no load.
struct LoadedWeights {
  TileId tile = kNoTile;
  int64_t offset = -1;
  int64_t columns = 0;
  int32_t partition = 0;
  int32_t rows = 0;
  int32_t pair = 0;  ///< of an fp32 matmul: low or high part
  bool operator==(const LoadedWeights&) const = default;
};

/// What a matmul asks of the array. The same for all instances, so it is worked out once.
struct MatmulWork {
  ArrayTile array{};
  bool transpose = false;     ///< moves bits; may run in the background
  int64_t pairs = 1;          ///< LoadStationary and MultiplyMoving that the matmul becomes
  PeTime load{}, multiply{};  ///< of each
};

/// Formulas: docs/hardware_facts.md#tensor-timing (measured) and #tensor-timing-v2.
///
/// LoadStationary issues when the previous multiply has started and is hidden by it. The
/// multiply issues right after its load, and streams when the previous multiply and the load are
/// done: from there to the next multiply it takes its cycles. After a pause of the loads the cold
/// array has its weights `load_advance` earlier than a load takes.
///
/// Instructions issue in order. Matmuls on disjoint tiles of the array (Step::array) overlap: each
/// tile has its own weights and its own queue, the loads share one path. Where the chip transposes
/// in the background, a transpose takes the array or a second queue beside it, whichever is free
/// first. Both are documented as concurrent; that they do not slow each other down is assumed.
class TensorEngine {
 public:
  TensorEngine(const Architecture& architecture, bool starts_warm, Picoseconds clock_phase = {});

  /// Of the two steps of a matmul.
  MatmulWork work(const Step& load, const Step& multiply) const;
  /// Loads weights; `ready`: all that the matmul waits for is there, `event`: a wait instruction
  /// stood before it. `end`: the multiply may stream. Nothing happens when these weights are
  /// loaded (span of length zero).
  Span load(const MatmulWork& work, const LoadedWeights& weights, Picoseconds ready,
            bool event = false);
  /// Streams the moving operand through what `load` has just been called for.
  Span multiply(const MatmulWork& work);
  /// How long the last multiply streamed.
  Picoseconds streamed() const { return streamed_; }
  /// Someone wrote to the tile the weights came from.
  void forget(TileId tile) {
    const auto drop = [tile](Lane& lane) {
      if (lane.weights.tile == tile) lane.weights = {};
    };
    for (size_t i = 0; i < (divided_ ? lanes_.size() : 1); ++i) drop(lanes_[i]);
    drop(background_);
  }

  /// The next instruction may wait for something from this time on.
  Picoseconds front() const { return front_; }
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
  int64_t pairs(const Step& step) const {
    return step.matmul == MatmulClass::kFp32 ? timing_.fp32_pairs : 1;
  }
  void divide();
  template <typename Visit>
  void each_lane(const ArrayTile& tile, Visit visit);
  Lane& open(const ArrayTile& tile);
  void close(const ArrayTile& tile);
  Picoseconds stream(Picoseconds start, const PeTime& work);

  static constexpr int kTilesPerEdge = 4;

  const TensorTiming& timing_;
  bool hidden_;
  bool has_background_;
  int64_t tile_edge_;  // rows and columns of one lane's part of the array
  PeClock clock_;
  PeTime load_latency_, drain_;
  // Lane 0 stands for the whole array until a matmul on a tile of it comes along.
  std::array<Lane, static_cast<size_t>(kTilesPerEdge* kTilesPerEdge)> lanes_;
  bool divided_ = false;
  Lane opened_;  // of a tile, between open and close
  Lane background_;
  bool in_background_ = false;  // where the last load went
  Picoseconds next_load_{};     // a load may start
  Picoseconds front_{};         // a wait may start
  Picoseconds last_start_{};    // of a multiply: when it began to stream
  // Of the last load, for its multiply:
  Picoseconds multiply_issue_{};
  bool loaded_ = false;
  Picoseconds streamed_{};
};

}  // namespace neuron_sim
