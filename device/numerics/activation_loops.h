#pragma once
// Loops of the activation functions that the compiler can put in vector registers. Internal to
// device/numerics/activation_functions*.cpp.

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/numerics/activation_functions.h"

namespace neuron_sim::activation_functions {

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

/// target = finish(x, e^argument(x)). Blocks of short loops, each of which the compiler can put in
/// vector registers; in one loop the clamp becomes a branch around everything.
template <typename Argument, typename Finish>
void map_exponential(const float* source, float* target, int64_t count, Argument argument,
                     Finish finish) {
  constexpr int64_t kBlock = 128;
  double values[kBlock];
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t length = std::min(kBlock, count - start);
    const float* x = source + start;
    float* result = target + start;
    for (int64_t i = 0; i < length; ++i) values[i] = argument(x[i]);
    for (int64_t i = 0; i < length; ++i) values[i] = values[i] < -110.0 ? -110.0 : values[i];
    for (int64_t i = 0; i < length; ++i) values[i] = values[i] > 110.0 ? 110.0 : values[i];
    for (int64_t i = 0; i < length; ++i) values[i] = exponential(values[i]);
    for (int64_t i = 0; i < length; ++i) result[i] = finish(x[i], values[i]);
  }
}

/// The functions built on e^x. False when `function` is not one of them.
bool apply_exponential(Activation function, const float* source, float* target, int64_t count);
/// The functions built on the error function, logarithms, angles, and the derivatives. False when
/// `function` is not one of them.
bool apply_special(Activation function, const float* source, float* target, int64_t count);

}  // namespace neuron_sim::activation_functions
