#pragma once
// Loops of the activation functions that the compiler can put in vector registers. Internal to
// device/numerics/activation_functions*.cpp.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "device/numerics/activation_functions.h"
#include "device/vector/in_vectors.h"

namespace neuron_sim::activation_functions {

inline constexpr int64_t kExponentialBlock = 128;
/// Adding 1.5 * 2^52 rounds to an integer that then sits in the low mantissa bits.
inline constexpr double kRound = 6755399441055744.0;

template <typename Function>
void map(const float* source, float* target, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) target[i] = function(source[i]);
}

/// Values that exponentials() takes at a time.
inline constexpr int64_t kExponentialStep = 32;

/// Replaces `count` values, a multiple of kExponentialStep, by e^x to about 2^-40 relative, and
/// those beyond 110, which is out of the range of fp32 on both sides, by that of 110; passes NaN
/// on. In vectors of kBytes, several in step with each other: within one, every operation waits for
/// the one before.
template <int kBytes>
inline __attribute__((always_inline)) void exponentials(double* values, int64_t count) {
  using Doubles [[gnu::vector_size(kBytes)]] = double;
  using Words [[gnu::vector_size(kBytes)]] = uint64_t;
  constexpr int64_t kLanes = kBytes / int64_t{sizeof(double)};
  constexpr int64_t kVectors = 4;
  static_assert(kExponentialStep % (kVectors * kLanes) == 0);
  constexpr double kLog2E = 1.44269504088896340736;
  constexpr double kLn2 = 0.693147180559945309417;
  // |r| <= ln(2) / 2: the next term is r^11 / 11! < 2^-42
  constexpr double kSeries[] = {
      1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0,
      1.0 / 24.0,     1.0 / 6.0,     0.5,          1.0,         1.0};
  const Doubles kLow = Doubles{} - 110.0, kHigh = Doubles{} + 110.0;
  for (double* at = values; at < values + count; at += kVectors * kLanes) {
    Doubles shifted[kVectors], r[kVectors], series[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      Doubles x;
      std::memcpy(&x, at + v * kLanes, sizeof x);
      x = x < kLow ? kLow : x;
      x = x > kHigh ? kHigh : x;
      shifted[v] = x * kLog2E + kRound;
      r[v] = x - (shifted[v] - kRound) * kLn2;
      series[v] = Doubles{} + 1.0 / 3628800.0;
    }
#pragma GCC unroll 16
    for (const double coefficient : kSeries) {
      for (int64_t v = 0; v < kVectors; ++v) series[v] = series[v] * r[v] + coefficient;
    }
    for (int64_t v = 0; v < kVectors; ++v) {
      Words exponent;
      std::memcpy(&exponent, &shifted[v], sizeof exponent);
      exponent = (exponent + 1023) << 52;
      Doubles power;
      std::memcpy(&power, &exponent, sizeof power);
      series[v] *= power;
      std::memcpy(at + v * kLanes, &series[v], sizeof power);
    }
  }
}

/// target = finish(x, e^argument(x)) of a block, in loops that the compiler puts in vector
/// registers.
template <int kBytes, typename Argument, typename Finish>
inline __attribute__((always_inline)) void exponential_block(const float* x, float* result,
                                                             int64_t length, Argument argument,
                                                             Finish finish) {
  double values[kExponentialBlock];
  for (int64_t i = 0; i < length; ++i) values[i] = argument(x[i]);
  const int64_t whole = (length + kExponentialStep - 1) / kExponentialStep * kExponentialStep;
  for (int64_t i = length; i < whole; ++i) values[i] = 0;
  exponentials<kBytes>(values, whole);
  for (int64_t i = 0; i < length; ++i) result[i] = finish(x[i], values[i]);
}

/// target = finish(x, e^argument(x)), in blocks.
template <typename Argument, typename Finish>
void map_exponential(const float* source, float* target, int64_t count, Vectors vectors,
                     Argument argument, Finish finish) {
  for (int64_t start = 0; start < count; start += kExponentialBlock) {
    const int64_t length = std::min(kExponentialBlock, count - start);
    in_vectors(
        vectors, [=](auto bytes) __attribute__((always_inline)) {
          exponential_block<bytes()>(source + start, target + start, length, argument, finish);
        });
  }
}

/// The functions built on e^x, gelu among them. False when `function` is not one of them. The host
/// has `vectors`.
bool apply_exponential(Activation function, const float* source, float* target, int64_t count,
                       Vectors vectors = widest_vectors());
/// Those built on the error function, logarithms, angles, and the derivatives. False when
/// `function` is not one of them.
bool apply_special(Activation function, const float* source, float* target, int64_t count,
                   Vectors vectors = widest_vectors());

}  // namespace neuron_sim::activation_functions
