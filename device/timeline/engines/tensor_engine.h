#pragma once
// TensorE: LoadStationary and MultiplyMoving are two queues of one engine.

#include <algorithm>
#include <array>

#include "device/instruction/demand.h"
#include "device/program/program.h"
#include "device/timeline/engines/pe_clock.h"
#include "device/timeline/engines/span.h"
#include "device/timeline/engines/state_visitor.h"

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

  /// The work of a matmul's two steps, load and multiply.
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
    if (step.matmul == MatmulClass::kFp32Transpose) return timing_.fp32_transpose_pairs;
    return step.matmul == MatmulClass::kFp32 ? timing_.fp32_pairs : 1;
  }
  void divide();
  template <typename Visit>
  void each_lane(const ArrayTile& tile, Visit visit);
  /// The queue of a tile, until what was done to it is closed.
  Lane& open(const ArrayTile& tile) {
    if (in_background_) return background_;
    return tile.rows == 0 && !divided_ ? lanes_[0] : open_lanes(tile);
  }
  void close(const ArrayTile& tile) {
    if (divided_ && !in_background_) close_lanes(tile);
  }
  Lane& open_lanes(const ArrayTile& tile);
  void close_lanes(const ArrayTile& tile);
  Picoseconds stream(Picoseconds start, const PeTime& work, int64_t rows);

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
  // What the last load leaves to its multiply:
  Picoseconds multiply_issue_{};
  bool loaded_ = false;
  Picoseconds streamed_{};
};

[[gnu::always_inline]] inline Span TensorEngine::load(const MatmulWork& work,
                                                      const LoadedWeights& weights,
                                                      Picoseconds ready, bool event) {
  in_background_ = false;
  Lane* own = &open(work.array);
  in_background_ = has_background_ && work.transpose && background_.next_slot < own->next_slot;
  if (in_background_) own = &background_;
  Lane& lane = *own;
  Picoseconds start = std::max(next_load_, ready);
  loaded_ = weights != lane.weights;
  if (!loaded_) {
    multiply_issue_ = front_ = start;
    return {start, start, start};
  }
  lane.weights = weights;
  if (!hidden_) start = std::max(start, lane.next_slot);
  const bool warm = clock_.warm(start);
  const Picoseconds length = work.load.at(warm);
  Picoseconds end = start + length;
  if (hidden_) {
    end = warm ? end + timing_.issue_overhead
               : std::max(next_load_, start - timing_.load_advance) + length;
  }
  const Picoseconds done = end + timing_.load_latency + load_latency_.at(warm);
  multiply_issue_ =
      start + (event && ready > next_load_ ? timing_.multiply_issue_event : timing_.multiply_issue);
  front_ = start + timing_.load_queue;
  lane.weights_ready = end;
  end = std::max(start, end);
  next_load_ = end;
  if (!hidden_) lane.next_slot = std::max(lane.next_slot, end);
  close(work.array);
  return {start, end, done};
}

/// End of work that starts at `start`, beside what runs already.
inline Picoseconds TensorEngine::stream(Picoseconds start, const PeTime& work, int64_t rows) {
  const Picoseconds busy_until = clock_.busy_until();
  if (start >= busy_until) return clock_.run(start, work, rows);
  // The clock has been followed to busy_until: the overlapping part keeps the clock of that time.
  const Picoseconds length = clock_.duration(busy_until, work);
  const Picoseconds end = start + length;
  clock_.mark_busy(busy_until, std::min(end, busy_until + clock_.busy_part(length, rows)));
  return end;
}

[[gnu::always_inline]] inline Span TensorEngine::multiply(const MatmulWork& work) {
  Lane& lane = open(work.array);
  const int64_t rows = lane.weights.rows;
  const Picoseconds slot = std::max(lane.next_slot, last_start_);
  const Picoseconds start = std::max(slot, multiply_issue_);
  // Weights may be there before the instruction is issued; then the start-up is hidden.
  const Picoseconds begin = loaded_ ? std::max(slot, lane.weights_ready) : start;
  // Bound by the weight load: the array counts as busy.
  if (begin > slot && begin > multiply_issue_) {
    const Picoseconds from = std::max({slot, multiply_issue_, clock_.busy_until()});
    clock_.mark_busy(from, from + clock_.busy_part(begin - from, rows));
  }
  Picoseconds end = stream(begin, work.multiply, rows);
  if (clock_.is_warm_now()) end += timing_.issue_overhead;  // at `begin`
  end = std::max(end, start);
  streamed_ = end - begin;
  lane.next_slot = end;
  last_start_ = begin;
  close(work.array);
  // The next weights go to the array's second buffer while this multiply streams.
  next_load_ = std::max(next_load_, std::max(start, begin) + timing_.load_issue);
  const Picoseconds done = end + timing_.drain + clock_.duration(end, drain_);
  return {start, end, done};
}

}  // namespace neuron_sim
