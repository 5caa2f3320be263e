#pragma once
// Reductions of fp32 values in documented orders. Vector's is proven bit by bit for add
// (python_bindings/neuron_sim/fidelity/data/bits.toml says what is known of each).

#include <algorithm>
#include <cstdint>

#include "device/numerics/operators.h"

namespace neuron_sim {

/// The initial value of a reduction: 0 for add and subtract, 1 for multiply, -inf for maximum, inf
/// for minimum (nki.isa.tensor_scalar_cumulative). SimulatorBug for other operators.
float reduction_identity(AluOp op);

/// `count` (at least 1) fp32 values reduced to one as Vector does. add, subtract and multiply take
/// one value after the other; a sum starts from +0, so that it is never -0. Other operators, whose
/// results do not depend on the order but for the sign of zero, are reduce_in_partials().
float reduce(AluOp op, const float* values, int64_t count);

/// start op first op second ..., in order: add, subtract or multiply. A sum is never -0.
float reduce_in_order(AluOp op, float start, const float* values, int64_t count);

/// Element i goes to partial result i mod 16, in order; then partial result l takes in l + 8, l +
/// 4, l + 2, l + 1 (where they exist); add adds that to +0. Scalar's order, which is assumed.
float reduce_in_partials(AluOp op, const float* values, int64_t count);

/// Rows that add_in_order() sums side by side.
inline constexpr int64_t kRowsAtOnce = 16;

/// sums[r] + rows[r][0] + rows[r][1] ..., in order, in place of sums[r], for the first `rows` (at
/// most kRowsAtOnce) of `values`. Sixteen rows take hardly longer than four.
void add_in_order(const float* const* values, int64_t rows, int64_t count, float* sums);

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

/// reduce_in_partials() for an operator given as a functor (device/numerics/alu.h).
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

}  // namespace reduction
}  // namespace neuron_sim
