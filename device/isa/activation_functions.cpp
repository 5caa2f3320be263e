// The functions of the Scalar engine. They are computed in double precision and rounded once to
// fp32, branch-free where that is easy, so that the compiler can use vector registers.

#include <bit>
#include <cmath>
#include <iterator>

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

/// erfc(z) for z >= 0 to about 2^-36 relative: t exp(-z^2 + series(t)) with t = 2 / (2 + z) in
/// (0, 1]. The coefficients are the Chebyshev expansion of log(erfc(z) / t) + z^2 over t, computed
/// at the roots of T_64 with 40 decimal digits.
inline double complementary_error(double z) {
  constexpr double kCoefficients[] = {
      -1.30265371978170928,     0.641969792356490108,     0.0194764732041859822,
      -0.0095615147868087666,   -0.000946595344481916827, 0.000366839497852659829,
      0.0000425233248069880162, -0.0000202785781125907753, -1.62429000461584537e-6,
      1.30365583557559185e-6,   1.56264417006207552e-8,   -8.52380958677488135e-8,
      6.52905436758636469e-9,   5.05934358928922447e-9,   -9.91364269696832589e-10,
      -2.27364992951069645e-10, 9.64677693380609203e-11};
  const double t = 2.0 / (2.0 + z);
  const double y = 4.0 * t - 2.0;
  double last = 0, before = 0;
#pragma GCC unroll 16
  for (int k = static_cast<int>(std::size(kCoefficients)) - 1; k >= 1; --k) {
    const double next = y * last - before + kCoefficients[k];
    before = last;
    last = next;
  }
  const double series = 0.5 * (kCoefficients[0] + y * last) - before;
  return t * exponential(series - z * z);
}

/// x * Phi(x) = x/2 * erfc(-x / sqrt 2): no cancellation in the left tail. -inf gives -0, the limit.
inline float gelu(float x) {
  constexpr double kRootHalf = 0.707106781186547524401;
  constexpr double kZeroBelow = -1000.0;  // the value is 0 in fp32 long before
  const double wide = x < kZeroBelow ? kZeroBelow : static_cast<double>(x);
  const double tail = complementary_error(std::fabs(wide) * kRootHalf);
  return static_cast<float>(0.5 * wide * (wide < 0 ? tail : 2.0 - tail));
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
