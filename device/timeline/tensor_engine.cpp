#include "device/timeline/tensor_engine.h"

#include <algorithm>

namespace neuron_sim {
namespace {

// load_cycles_* are given for a full stationary operand of 128 columns.
constexpr double kFullColumns = 128;

}  // namespace

TensorEngine::TensorEngine(const Architecture& architecture, bool starts_warm,
                           Picoseconds clock_phase)
    : timing_(architecture.tensor),
      hidden_(architecture.features.hidden_weight_load),
      has_background_(architecture.features.background_transpose),
      tile_edge_(architecture.limits.partitions / kTilesPerEdge),
      clock_(architecture, starts_warm, clock_phase),
      load_latency_(clock_.time_of(timing_.load_latency_cycles)),
      drain_(clock_.time_of(timing_.drain_cycles)) {}

double TensorEngine::load_cycles(const Step& step) const {
  double cycles = step.strided ? timing_.load_cycles_16bit_strided : timing_.load_cycles_16bit;
  if (step.matmul != MatmulClass::k16bit) {
    const bool transpose = step.matmul == MatmulClass::kFp32Transpose;
    cycles = transpose ? timing_.load_cycles_fp32_transpose : timing_.load_cycles_fp32;
    if (step.strided) cycles *= timing_.strided_load_factor;
  }
  return cycles * static_cast<double>(step.elements) / kFullColumns;
}

double TensorEngine::multiply_cycles(const Step& step) const {
  double passes = 1;
  if (step.matmul == MatmulClass::kFp32) passes = timing_.passes_fp32;
  if (step.matmul == MatmulClass::kFp32Transpose) passes = timing_.passes_fp32_transpose;
  if (step.matmul == MatmulClass::kFp32OneZero) passes = timing_.passes_fp32_onezero;
  const double columns = std::max(static_cast<double>(step.elements), timing_.minimum_columns);
  return (columns + timing_.columns_init) * passes / static_cast<double>(pairs(step));
}

MatmulWork TensorEngine::work(const Step& load, const Step& multiply) const {
  return {multiply.array, multiply.transpose, pairs(multiply), clock_.time_of(load_cycles(load)),
          clock_.time_of(multiply_cycles(multiply))};
}

void TensorEngine::divide() {
  if (divided_) return;
  divided_ = true;
  lanes_.fill(Lane{lanes_[0]});
}

template <typename Visit>
void TensorEngine::each_lane(const ArrayTile& tile, Visit visit) {
  const bool whole = tile.rows == 0;
  const auto first = [&](int start) { return static_cast<int>(start / tile_edge_); };
  const auto last = [&](int start, int size) {
    return whole ? kTilesPerEdge : static_cast<int>((start + size + tile_edge_ - 1) / tile_edge_);
  };
  for (int row = first(tile.row); row < last(tile.row, tile.rows); ++row) {
    for (int column = first(tile.column); column < last(tile.column, tile.columns); ++column) {
      const int lane = row * kTilesPerEdge + column;
      visit(lanes_[static_cast<size_t>(lane)]);
    }
  }
}

/// The queue of a tile: free when all its lanes are, with weights if they all hold the same.
TensorEngine::Lane& TensorEngine::open(const ArrayTile& tile) {
  if (in_background_) return background_;
  if (tile.rows > 0) divide();
  if (!divided_) return lanes_[0];
  bool first = true;
  each_lane(tile, [&](const Lane& lane) {
    if (first) {
      opened_ = lane;
      first = false;
      return;
    }
    if (opened_.weights != lane.weights) opened_.weights = {};
    opened_.next_slot = std::max(opened_.next_slot, lane.next_slot);
    opened_.weights_ready = std::max(opened_.weights_ready, lane.weights_ready);
  });
  return opened_;
}

/// What was done to the queue of a tile holds for all its lanes.
void TensorEngine::close(const ArrayTile& tile) {
  if (in_background_ || !divided_) return;
  if (tile.rows == 0) {  // the whole array is in one state again
    divided_ = false;
    lanes_[0] = opened_;
    return;
  }
  each_lane(tile, [&](Lane& part) { part = opened_; });
}

Span TensorEngine::load(const MatmulWork& work, const LoadedWeights& weights, Picoseconds ready,
                        bool event) {
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
  const Picoseconds length = clock_.duration(start, work.load);
  Picoseconds end = start + length;
  if (hidden_ && clock_.is_warm_now()) {
    end += timing_.issue_overhead;
  } else if (hidden_) {
    end = std::max(next_load_, start - timing_.load_advance) + length;
  }
  const Picoseconds done = end + timing_.load_latency + clock_.duration(start, load_latency_);
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
Picoseconds TensorEngine::stream(Picoseconds start, const PeTime& work) {
  const Picoseconds busy_until = clock_.busy_until();
  if (start >= busy_until) return clock_.run(start, work);
  // The clock has been followed to busy_until: the overlapping part keeps the clock of that time.
  const Picoseconds end = start + clock_.duration(busy_until, work);
  clock_.mark_busy(busy_until, end);
  return end;
}

Span TensorEngine::multiply(const MatmulWork& work) {
  Lane& lane = open(work.array);
  const Picoseconds slot = std::max(lane.next_slot, last_start_);
  const Picoseconds start = std::max(slot, multiply_issue_);
  // Weights may be there before the instruction is issued; then the start-up is hidden.
  const Picoseconds begin = loaded_ ? std::max(slot, lane.weights_ready) : start;
  // Bound by the weight load: the array counts as busy.
  clock_.mark_busy(std::max({slot, std::min(multiply_issue_, begin), clock_.busy_until()}), begin);
  Picoseconds end = stream(begin, work.multiply);
  if (clock_.warm(begin)) end += timing_.issue_overhead;
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

Picoseconds TensorEngine::next_issue() const {
  Picoseconds slot = lanes_[0].next_slot;
  if (divided_) {
    for (const Lane& lane : lanes_) slot = std::min(slot, lane.next_slot);
  }
  if (has_background_) slot = std::min(slot, background_.next_slot);
  return std::min({next_load_, front_, std::max(slot, last_start_)});
}

void TensorEngine::hold_until(Picoseconds time) {
  next_load_ = std::max(next_load_, time);
  front_ = std::max(front_, time);
  last_start_ = std::max(last_start_, time);
}

void TensorEngine::Lane::visit(StateVisitor& visitor) {
  visitor.time(next_slot);
  visitor.time(weights_ready);
  visitor.other(weights.tile);
  visitor.other(weights.offset);
  visitor.other(weights.columns);
  visitor.other(weights.partition);
  visitor.other(weights.rows);
  visitor.other(weights.pair);
}

void TensorEngine::visit(StateVisitor& visitor) {
  visitor.time(next_load_);
  visitor.time(front_);
  visitor.time(last_start_);
  visitor.other(divided_ ? 1 : 0);
  for (size_t i = 0; i < (divided_ ? lanes_.size() : 1); ++i) lanes_[i].visit(visitor);
  background_.visit(visitor);
  visitor.other(clock_.is_warm_now() ? 1 : 0);
}

}  // namespace neuron_sim
