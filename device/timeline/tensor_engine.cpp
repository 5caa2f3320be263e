#include "device/timeline/tensor_engine.h"

#include <algorithm>

namespace neuron_sim {
namespace {

// load_cycles_* are given for a full stationary operand of 128 columns.
constexpr double kFullColumns = 128;

}  // namespace

double TensorEngine::load_cycles(const Step& step) const {
  double cycles = timing_.load_cycles_16bit;
  if (step.matmul == MatmulClass::kFp32) cycles = timing_.load_cycles_fp32;
  if (step.matmul == MatmulClass::kFp32Transpose) cycles = timing_.load_cycles_fp32_transpose;
  if (step.strided) cycles *= timing_.strided_load_factor;
  return cycles * static_cast<double>(step.elements) / kFullColumns;
}

double TensorEngine::multiply_cycles(const Step& step) const {
  double passes = 1;
  if (step.matmul == MatmulClass::kFp32) passes = timing_.passes_fp32;
  if (step.matmul == MatmulClass::kFp32Transpose) passes = timing_.passes_fp32_transpose;
  const double columns = std::max(static_cast<double>(step.elements), timing_.minimum_columns);
  return (columns + timing_.columns_init) * passes;
}

Span TensorEngine::load(const Step& step, const LoadedWeights& weights, Picoseconds ready) {
  if (weights == weights_) {
    const Picoseconds start = std::max(next_load_, ready);
    return {start, start, start};
  }
  weights_ = weights;
  Picoseconds start = std::max(next_load_, ready);
  if (!hidden_) start = std::max(start, next_slot_);
  const Picoseconds end = start + clock_.duration(start, load_cycles(step));
  weights_ready_ = end;
  next_load_ = end;
  if (!hidden_) next_slot_ = std::max(next_slot_, end);
  return {start, end, end};
}

Span TensorEngine::multiply(const Step& step, Picoseconds ready) {
  const Picoseconds slot = std::max(next_slot_, ready);
  const Picoseconds start = std::max(slot, weights_ready_);
  clock_.mark_busy(slot, start);  // bound by the weight load: the array counts as busy
  Picoseconds end = clock_.run(start, multiply_cycles(step));
  if (clock_.warm(start)) end += timing_.issue_overhead;
  next_slot_ = end;
  // The next weights go to the array's second buffer while this multiply streams.
  next_load_ = std::max(next_load_, start + timing_.load_issue);
  const Picoseconds done = end + timing_.drain + clock_.duration(end, timing_.drain_cycles);
  return {start, end, done};
}

void TensorEngine::visit(StateVisitor& visitor) {
  visitor.time(next_load_);
  visitor.time(next_slot_);
  visitor.time(weights_ready_);
  visitor.other(weights_.tile);
  visitor.other(weights_.offset);
  visitor.other(weights_.columns);
  visitor.other(clock_.is_warm_now() ? 1 : 0);
}

}  // namespace neuron_sim
