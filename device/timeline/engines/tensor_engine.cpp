#include "device/timeline/engines/tensor_engine.h"

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

/// Free when all lanes of the tile are, with weights if they all hold the same.
TensorEngine::Lane& TensorEngine::open_lanes(const ArrayTile& tile) {
  if (tile.rows > 0) divide();
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
void TensorEngine::close_lanes(const ArrayTile& tile) {
  if (tile.rows == 0) {  // the whole array is in one state again
    divided_ = false;
    lanes_[0] = opened_;
    return;
  }
  each_lane(tile, [&](Lane& part) { part = opened_; });
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
