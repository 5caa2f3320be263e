#pragma once
// Reductions of fp32 values in one documented order, which lets the host take 16 at a time.

#include <algorithm>
#include <cstdint>

#include "device/numerics/operators.h"

namespace neuron_sim {

/// The initial value of a reduction: 0 for add and subtract, 1 for multiply, -inf for maximum, inf
/// for minimum (nki.isa.tensor_scalar_cumulative). SimulatorBug for other operators.
float reduction_identity(AluOp op);

/// `count` (at least 1) fp32 values reduced to one. Element i goes to partial result i mod 16, in
/// order; then partial result l takes in l + 8, l + 4, l + 2, l + 1 (where they exist); add adds
/// that to +0, so that a sum is never -0. subtract is first - second - third ..., in order.
float reduce(AluOp op, const float* values, int64_t count);

namespace reduction {

inline constexpr int64_t kPartials = 16;

/// Fewer than 16 values: each is its own partial result.
template <typename Function>
float reduce_few(const float* values, int64_t count, Function function) {
  float partials[kPartials] = {};  // the analyzer does not see that `count` are set
  for (int64_t l = 0; l < count; ++l) partials[l] = values[l];
  for (int64_t half = kPartials / 2; half >= 1; half /= 2) {
    for (int64_t l = half; l < count; ++l) {
      partials[l - half] = function(partials[l - half], partials[l]);
    }
    count = std::min(count, half);
  }
  return partials[0];
}

/// target[l] = source[l] combined with source[l + kCount]. The loop stays one until the compiler
/// has put it in vector registers.
template <int64_t kCount, typename Function>
inline void fold(const float* source, float* target, Function function) {
#pragma GCC unroll 1
  for (int64_t l = 0; l < kCount; ++l) target[l] = function(source[l], source[l + kCount]);
}

/// The 16 partial results as one.
template <typename Function>
inline float fold(const float* partials, Function function) {
  float eight[8], four[4];
  fold<8>(partials, eight, function);
  fold<4>(eight, four, function);
  return function(function(four[0], four[2]), function(four[1], four[3]));
}

/// The order above for an associative operator, given as a functor (device/numerics/alu.h).
template <typename Function>
float reduce(const float* values, int64_t count, Function function) {
  if (count < kPartials) return reduce_few(values, count, function);
  if (count == kPartials) return fold(values, function);
  float partials[kPartials];
  std::copy(values, values + kPartials, partials);
  int64_t i = kPartials;
  for (; i + kPartials <= count; i += kPartials) {
    for (int64_t l = 0; l < kPartials; ++l) partials[l] = function(partials[l], values[i + l]);
  }
  for (int64_t l = 0; i + l < count; ++l) partials[l] = function(partials[l], values[i + l]);
  return fold(partials, function);
}

inline float subtract_in_order(float first, const float* others, int64_t count) {
  for (int64_t i = 0; i < count; ++i) first -= others[i];
  return first;
}

}  // namespace reduction
}  // namespace neuron_sim
