#pragma once
// Functions whose exact result is slow: vectors estimate it in double precision, and where the
// estimate leaves open to which fp32 number it rounds, the exact function is asked. The bytes are
// those of the exact function everywhere. Only device/numerics/activation_functions*.cpp use it.

#include <limits>

#include "device/numerics/activation_loops.h"

// Vectors are returned by functions that are always inlined: nothing is called that way.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace neuron_sim::activation_functions {

/// A value, NaN where the exact function has to decide, and the most by which it may be wrong.
template <typename Doubles>
struct Estimate {
  Doubles value, error;
};

/// The double-precision numbers in vectors of kBytes, and as many fp32 numbers and flags. (In an
/// alias declaration GCC 12 forgets a size that is computed from a parameter.)
template <int kBytes>
struct Lanes {
  typedef double Doubles __attribute__((vector_size(kBytes)));
  typedef float Floats __attribute__((vector_size(kBytes / 2)));
  typedef int32_t Flags __attribute__((vector_size(kBytes / 2)));
};

/// Estimates of kExponentialBlock elements in vectors of kBytes; `result` may be `x`.
template <int kBytes, typename Estimator, typename Exact>
inline __attribute__((always_inline)) void estimated_block(const float* x, float* result,
                                                           Estimator estimator, Exact exact) {
  using Doubles = typename Lanes<kBytes>::Doubles;
  using Floats = typename Lanes<kBytes>::Floats;
  using Flags = typename Lanes<kBytes>::Flags;
  constexpr int64_t kLanes = kBytes / int64_t{sizeof(double)};
  float values[kExponentialBlock];
  int32_t decided[kExponentialBlock];
  Flags all = Flags{} - 1;
  for (int64_t i = 0; i < kExponentialBlock; i += kLanes) {
    Floats narrow;
    std::memcpy(&narrow, x + i, sizeof narrow);
    const Estimate<Doubles> estimate = estimator(__builtin_convertvector(narrow, Doubles));
    const Doubles below = estimate.value - estimate.error, above = estimate.value + estimate.error;
    const Flags equal =
        __builtin_convertvector(below, Floats) == __builtin_convertvector(above, Floats);
    all &= equal;
    narrow = __builtin_convertvector(estimate.value, Floats);
    std::memcpy(values + i, &narrow, sizeof narrow);
    std::memcpy(decided + i, &equal, sizeof equal);
  }
  int32_t every = -1;
  for (int64_t lane = 0; lane < kLanes; ++lane) every &= all[lane];
  for (int64_t i = 0; every == 0 && i < kExponentialBlock; ++i) {
    if (decided[i] == 0) values[i] = exact(x[i]);
  }
  std::memcpy(result, values, sizeof values);
}

/// target = exact(x), which `estimator`, a functor on vectors of double, estimates where these are
/// wide enough to win by it.
template <typename Estimator, typename Exact>
void map_estimated(const float* source, float* target, int64_t count, Vectors vectors,
                   Estimator estimator, Exact exact) {
  if (vectors == Vectors::kEveryHost) return map(source, target, count, exact);
  for (int64_t start = 0; start < count; start += kExponentialBlock) {
    const int64_t length = std::min(kExponentialBlock, count - start);
    float block[kExponentialBlock];
    const bool whole = length == kExponentialBlock;
    if (!whole) {
      std::fill(std::copy_n(source + start, length, block), block + kExponentialBlock, 0.5F);
    }
    const float* const from = whole ? source + start : block;
    float* const to = whole ? target + start : block;
    in_vectors(
        vectors, [=](auto bytes) __attribute__((always_inline)) {
          estimated_block<bytes()>(from, to, estimator, exact);
        });
    if (!whole) std::copy_n(block, length, target + start);
  }
}

// The builtin casts here: std::bit_cast would be called with vectors where nothing is inlined.

template <typename Doubles>
inline __attribute__((always_inline)) Doubles magnitude(const Doubles& x) {
  using Words [[gnu::vector_size(sizeof(Doubles))]] = uint64_t;
  return __builtin_bit_cast(Doubles,
                            __builtin_bit_cast(Words, x) & ~(Words{} + (uint64_t{1} << 63)));
}

/// A value that is not negative, with the sign of another.
template <typename Doubles>
inline __attribute__((always_inline)) Doubles with_sign(const Doubles& value, const Doubles& sign) {
  using Words [[gnu::vector_size(sizeof(Doubles))]] = uint64_t;
  const Words bit = __builtin_bit_cast(Words, sign) & (uint64_t{1} << 63);
  return __builtin_bit_cast(Doubles, __builtin_bit_cast(Words, value) | bit);
}

/// The polynomial with these coefficients, highest power first.
template <typename Doubles, size_t kCount>
inline __attribute__((always_inline)) Doubles series(const Doubles& x,
                                                     const double (&coefficients)[kCount]) {
  Doubles sum{};
#pragma GCC unroll 32
  for (const double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

/// Bounds the relative error of a series whose next term is below 2^-43.
inline constexpr double kSeriesError = 0x1p-42;

/// sin(x) for |x| <= pi; beyond, the cubic of Activation::kSin, exactly.
struct SineEstimate {
  template <typename Doubles>
  inline __attribute__((always_inline)) Estimate<Doubles> operator()(const Doubles& x) const {
    constexpr double kPi = 3.14159265358979323846, kPiRest = 1.2246467991473532e-16;
    // 1 / n! with alternating signs; the next term is (pi / 2)^18 / 19! < 2^-45.
    constexpr double kSeries[] = {
        1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
        1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
    const Doubles turns = (x * (1.0 / kPi) + kRound) - kRound;
    const Doubles rest = (x - turns * kPi) - turns * kPiRest, square = rest * rest;
    const Doubles sine = rest + rest * (square * series(square, kSeries));
    const Doubles beyond = magnitude(x) - kPi;
    const Doubles cubic = with_sign(beyond, x) * (beyond * beyond / 6.0 - 1.0);
    return {beyond > 0.0 ? cubic : with_sign(magnitude(sine), x),
            beyond > 0.0 ? Doubles{} : magnitude(sine) * kSeriesError};
  }
};

/// log(x) of positive numbers that are finite.
struct LogarithmEstimate {
  template <typename Doubles>
  inline __attribute__((always_inline)) Estimate<Doubles> operator()(const Doubles& x) const {
    using Words [[gnu::vector_size(sizeof(Doubles))]] = uint64_t;
    constexpr double kLn2 = 0.693147180559945309417;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr uint64_t kOne = uint64_t{1023} << 52, kRootHalf = 0x3fe6a09e667f3bcd;
    constexpr uint64_t kInteger = 0x4330000000000000;  // of 2^52
    // m between sqrt(1 / 2) and sqrt(2), s = (m - 1) / (m + 1): 2 artanh(s), s^2 < 0.0295,
    // and the next term is 0.0295^8 / 17 < 2^-44.
    constexpr double kSeries[] = {1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3};
    const Words bits = __builtin_bit_cast(Words, x);
    const Words exponent = (bits - kRootHalf + kOne) >> 52;
    const Doubles power = __builtin_bit_cast(Doubles, exponent | kInteger) - (0x1p52 + 1023.0);
    const Doubles m = __builtin_bit_cast(Doubles, bits - ((exponent - 1023) << 52));
    const Doubles s = (m - 1.0) / (m + 1.0), square = s * s;
    const Doubles value = power * kLn2 + (2.0 * s + 2.0 * s * (square * series(square, kSeries)));
    const Doubles nan = Doubles{} + std::numeric_limits<double>::quiet_NaN();
    const Doubles finite = x < kInfinity ? value : nan;
    return {x > 0.0 ? finite : nan, magnitude(value) * kSeriesError};
  }
};

struct ArcTangentEstimate {
  template <typename Doubles>
  inline __attribute__((always_inline)) Estimate<Doubles> operator()(const Doubles& x) const {
    constexpr double kPi = 3.14159265358979323846, kEighth = 0.41421356237309503;  // tan(pi / 8)
    // The next term is kEighth^32 / 33 < 2^-45.
    constexpr double kSeries[] = {-1.0 / 31, 1.0 / 29,  -1.0 / 27, 1.0 / 25,  -1.0 / 23,
                                  1.0 / 21,  -1.0 / 19, 1.0 / 17,  -1.0 / 15, 1.0 / 13,
                                  -1.0 / 11, 1.0 / 9,   -1.0 / 7,  1.0 / 5,   -1.0 / 3};
    const Doubles size = magnitude(x);
    const Doubles inverse = 1.0 / size;
    const Doubles t = size > 1.0 ? inverse : size;
    const Doubles moved = (t - 1.0) / (t + 1.0);
    const Doubles u = t > kEighth ? moved : t, square = u * u;
    const Doubles near = u + u * (square * series(square, kSeries));
    const Doubles lower = t > kEighth ? kPi / 4 + near : near;
    const Doubles angle = size > 1.0 ? kPi / 2 - lower : lower;
    return {with_sign(angle, x), angle * kSeriesError};
  }
};

}  // namespace neuron_sim::activation_functions
