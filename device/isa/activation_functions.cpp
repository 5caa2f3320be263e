// The functions of the Scalar engine. They are computed in double precision and rounded once to
// fp32, branch-free where that is easy, so that the compiler can use vector registers.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "device/base/errors.h"
#include "device/isa/operators.h"

namespace neuron_sim {
namespace {

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

/// tanh(x), given e = e^(2x).
inline float hyperbolic_tangent(float x, double e) {
  const double wide = x;
  const double large = 1.0 - 2.0 / (e + 1.0);
  const double square = wide * wide;
  // Below 2^-6 the quotient would cancel; the next term of the series is 62 x^8 / 2835 < 2^-53.
  const double small =
      wide * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 - square * 17.0 / 315.0)));
  return static_cast<float>(square < 0x1p-12 ? small : large);
}

/// x * Phi(x) = x/2 * erfc(-x / sqrt 2): no cancellation in the left tail.
float gelu(float x) {
  constexpr double kRootHalf = 0.707106781186547524401;
  if (x == -INFINITY) return -0.0F;  // the limit, not -inf * 0
  const double wide = x;
  return static_cast<float>(0.5 * wide * std::erfc(-wide * kRootHalf));
}

}  // namespace

void apply(Activation function, const float* source, float* target, int64_t count) {
  switch (function) {
    case Activation::kIdentity: return map(source, target, count, [](float x) { return x; });
    case Activation::kRelu:
      return map(source, target, count, [](float x) { return ((x > 0) | (x != x)) ? x : 0.0F; });
    case Activation::kExp:
      return map_exponential(
          source, target, count, [](float x) -> double { return x; },
          [](float, double e) { return static_cast<float>(e); });
    case Activation::kGelu: return map(source, target, count, gelu);
    case Activation::kSigmoid:
      return map_exponential(
          source, target, count, [](float x) -> double { return -x; },
          [](float, double e) { return static_cast<float>(1.0 / (1.0 + e)); });
    case Activation::kTanh:
      return map_exponential(
          source, target, count, [](float x) { return 2.0 * x; }, hyperbolic_tangent);
    case Activation::kSquare: return map(source, target, count, [](float x) { return x * x; });
    case Activation::kSqrt: return map(source, target, count, [](float x) { return std::sqrt(x); });
    case Activation::kRsqrt:
      return map(source, target, count, [](float x) {
        return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
      });
  }
  require(false, "unknown activation function");
}

}  // namespace neuron_sim
