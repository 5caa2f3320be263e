#pragma once
// Loops of the activation functions that the compiler can put in vector registers. Internal to
// device/numerics/activation_functions*.cpp.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/numerics/activation_functions.h"

namespace neuron_sim::activation_functions {

inline constexpr int64_t kExponentialBlock = 128;

template <typename Function>
void map(const float* source, float* target, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) target[i] = function(source[i]);
}

/// e^x to about 2^-40 relative, for |x| <= 110, beyond the range of fp32 on both sides; passes NaN
/// on.
inline double exponential(double x) {
  constexpr double kLog2E = 1.44269504088896340736;
  constexpr double kLn2 = 0.693147180559945309417;
  // Adding 1.5 * 2^52 rounds to an integer that then sits in the low mantissa bits.
  constexpr double kRound = 6755399441055744.0;
  const double shifted = x * kLog2E + kRound;
  const double k = shifted - kRound;
  const double r = x - k * kLn2;  // |r| <= ln(2) / 2: the next term is r^11 / 11! < 2^-42
  double series = 1.0 / 3628800.0;
  series = series * r + 1.0 / 362880.0;
  series = series * r + 1.0 / 40320.0;
  series = series * r + 1.0 / 5040.0;
  series = series * r + 1.0 / 720.0;
  series = series * r + 1.0 / 120.0;
  series = series * r + 1.0 / 24.0;
  series = series * r + 1.0 / 6.0;
  series = series * r + 0.5;
  series = series * r + 1.0;
  series = series * r + 1.0;
  const uint64_t exponent = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  return series * std::bit_cast<double>(exponent);
}

/// One loop after the other, each of which the compiler can put in vector registers; in one loop
/// the clamp becomes a branch around everything.
template <typename Argument, typename Finish>
inline void exponential_block(const float* x, float* result, int64_t length, Argument argument,
                              Finish finish) {
  double values[kExponentialBlock];
  for (int64_t i = 0; i < length; ++i) values[i] = argument(x[i]);
  for (int64_t i = 0; i < length; ++i) values[i] = values[i] < -110.0 ? -110.0 : values[i];
  for (int64_t i = 0; i < length; ++i) values[i] = values[i] > 110.0 ? 110.0 : values[i];
  for (int64_t i = 0; i < length; ++i) values[i] = exponential(values[i]);
  for (int64_t i = 0; i < length; ++i) result[i] = finish(x[i], values[i]);
}

/// The same in the vectors of AVX2. Nothing is fused (-ffp-contract=off), so the bytes are those of
/// any host.
template <typename Argument, typename Finish>
__attribute__((target("avx2"), flatten)) void exponential_block_avx2(const float* x, float* result,
                                                                     int64_t length,
                                                                     Argument argument,
                                                                     Finish finish) {
  exponential_block(x, result, length, argument, finish);
}

/// target = finish(x, e^argument(x)), in blocks.
template <typename Argument, typename Finish>
void map_exponential(const float* source, float* target, int64_t count, Argument argument,
                     Finish finish) {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  for (int64_t start = 0; start < count; start += kExponentialBlock) {
    const int64_t length = std::min(kExponentialBlock, count - start);
    if (has_avx2) {
      exponential_block_avx2(source + start, target + start, length, argument, finish);
    } else {
      exponential_block(source + start, target + start, length, argument, finish);
    }
  }
}

/// The functions built on e^x, gelu among them. False when `function` is not one of them.
bool apply_exponential(Activation function, const float* source, float* target, int64_t count);
/// Those built on the error function, logarithms, angles, and the derivatives. False when
/// `function` is not one of them.
bool apply_special(Activation function, const float* source, float* target, int64_t count);

}  // namespace neuron_sim::activation_functions
