// The functions of the Scalar engine. They are computed in double precision and rounded once to
// fp32, branch-free where that is easy, so that the compiler can use vector registers.

#include <bit>
#include <cmath>

#include "device/base/errors.h"
#include "device/isa/operators.h"

namespace neuron_sim {
namespace {

template <typename Function>
void map(const float* source, float* target, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) target[i] = function(source[i]);
}

/// e^x to about 2^-40 relative, for any double; saturates at e^-110 and e^110, beyond the range of
/// fp32 on both sides, and passes NaN on.
inline double exponential(double x) {
  constexpr double kLog2E = 1.44269504088896340736;
  constexpr double kLn2 = 0.693147180559945309417;
  // Adding 1.5 * 2^52 rounds to an integer that then sits in the low mantissa bits.
  constexpr double kRound = 6755399441055744.0;
  double clamped = x < -110.0 ? -110.0 : x;
  clamped = clamped > 110.0 ? 110.0 : clamped;
  double shifted = clamped * kLog2E + kRound;
  double k = shifted - kRound;
  double r = clamped - k * kLn2;  // |r| <= ln(2) / 2; the series ends at r^10 / 10! < 2^-36 of r
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
  uint64_t exponent = (std::bit_cast<uint64_t>(shifted) + 1023) << 52;
  return series * std::bit_cast<double>(exponent);
}

inline float sigmoid(float x) {
  return static_cast<float>(1.0 / (1.0 + exponential(-static_cast<double>(x))));
}

inline float hyperbolic_tangent(float x) {
  double wide = x;
  double e = exponential(2.0 * wide);
  double large = 1.0 - 2.0 / (e + 1.0);
  double square = wide * wide;
  // Below 2^-6 the quotient would cancel; the series ends with an error of x^8 / 45 < 2^-53.
  double small = wide * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 - square * 17.0 / 315.0)));
  return static_cast<float>(square < 0x1p-12 ? small : large);
}

/// x * Phi(x) = x/2 * erfc(-x / sqrt 2): no cancellation in the left tail.
inline float gelu(float x) {
  constexpr double kRootHalf = 0.707106781186547524401;
  if (x == -INFINITY) return -0.0F;  // the limit, not -inf * 0
  double wide = x;
  return static_cast<float>(0.5 * wide * std::erfc(-wide * kRootHalf));
}

}  // namespace

void apply(Activation function, const float* source, float* target, int64_t count) {
  switch (function) {
    case Activation::kIdentity: return map(source, target, count, [](float x) { return x; });
    case Activation::kRelu:
      return map(source, target, count, [](float x) { return ((x > 0) | (x != x)) ? x : 0.0F; });
    case Activation::kExp:
      return map(source, target, count, [](float x) { return static_cast<float>(exponential(x)); });
    case Activation::kGelu: return map(source, target, count, gelu);
    case Activation::kSigmoid: return map(source, target, count, sigmoid);
    case Activation::kTanh: return map(source, target, count, hyperbolic_tangent);
    case Activation::kSquare: return map(source, target, count, [](float x) { return x * x; });
    case Activation::kSqrt:
      return map(source, target, count, [](float x) { return std::sqrt(x); });
    case Activation::kRsqrt:
      return map(source, target, count, [](float x) {
        return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
      });
  }
  require(false, "unknown activation function");
}

}  // namespace neuron_sim
