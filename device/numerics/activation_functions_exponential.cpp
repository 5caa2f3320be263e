// Activation functions built on e^x. Beyond |x| = 110 the exponential is that of 110, so functions
// that multiply it by x set their far values themselves.

#include <cmath>

#include "device/numerics/activation_loops.h"

namespace neuron_sim::activation_functions {
namespace {

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

/// x / (1 + e), which is -0 where x is so low that fp32 has no other value.
inline float gated(float x, double e, float lowest) {
  const double value = static_cast<double>(x) / (1.0 + e);
  return static_cast<float>(x < lowest ? -0.0 : value);
}

/// -2 sqrt(2 / pi) (x + 0.044715 x^3)
inline double gelu_tanh_argument(float x) {
  constexpr double kFactor = -1.59576912160573071176;
  const double wide = x;
  return kFactor * (wide + 0.044715 * wide * wide * wide);
}

/// e^(a^2) erfc(a) for 0 <= a <= 10.7, to 2^-45 relative. (1 + 2 a) times it is a polynomial in
/// (a - 4) / (a + 4), whose coefficients are a Chebyshev fit.
inline double scaled_complementary_error(double a) {
  constexpr double kCoefficients[] = {
      2.1039607113943794e-06,  6.749610193611921e-06,  -1.1908463957398774e-05,
      -2.5368909847675183e-05, 0.00015054209395950536, -0.00019896450091611597,
      -0.0007576941882053159,  0.0050319262397152485,  -0.016197749628705998,
      0.037167519297499264,    -0.06633036446180002,   0.09373283479625631,
      -0.10103906608758527,    0.06809705426092215,    0.015379652103246075,
      -0.13962111684062797,    1.232995118625552};
  const double q = (a - 4.0) / (a + 4.0);
  double series = 0;
#pragma GCC unroll 32
  for (const double coefficient : kCoefficients) series = series * q + coefficient;
  return series / (1.0 + 2.0 * a);
}

/// x Phi(x) = x/2 erfc(-x / sqrt 2), given e = e^(-x^2 / 2): no cancellation in the left tail.
inline float gelu(float x, double e) {
  constexpr double kRootHalf = 0.707106781186547524401;
  const double wide = x;
  const double distance = std::fabs(wide) * kRootHalf;
  const double tail = e * scaled_complementary_error(distance > 10.7 ? 10.7 : distance);
  const double value = 0.5 * wide * (wide > 0 ? 2.0 - tail : tail);
  return static_cast<float>(wide < -15.0 ? -0.0 : value);
}

/// x tanh(log(1 + e)) = x n / (n + 2), n = e (e + 2).
inline float mish(float x, double e) {
  const double n = e * (e + 2.0);
  const double value = static_cast<double>(x) * (n / (n + 2.0));
  return static_cast<float>(x < -120.0F ? -0.0 : value);
}

}  // namespace

bool apply_exponential(Activation function, const float* source, float* target, int64_t count,
                       Vectors vectors) {
  const auto evaluate = [&](auto argument, auto finish) {
    map_exponential(source, target, count, vectors, argument, finish);
    return true;
  };
  switch (function) {
    case Activation::kExp:
      return evaluate([](float x) -> double { return x; },
                      [](float, double e) { return static_cast<float>(e); });
    case Activation::kSigmoid:
      return evaluate([](float x) -> double { return -x; },
                      [](float, double e) { return static_cast<float>(1.0 / (1.0 + e)); });
    case Activation::kTanh:
      return evaluate([](float x) { return 2.0 * x; },
                      [](float x, double e) { return hyperbolic_tangent(x, e); });
    case Activation::kGelu:
      return evaluate([](float x) { return -0.5 * x * double{x}; },
                      [](float x, double e) { return gelu(x, e); });
    case Activation::kGeluApproximateTanh:
      return evaluate([](float x) { return gelu_tanh_argument(x); },
                      [](float x, double e) { return gated(x, e, -30); });
    case Activation::kGeluApproximateSigmoid:
      return evaluate([](float x) { return -1.702 * x; },
                      [](float x, double e) { return gated(x, e, -70); });
    case Activation::kSilu:
      return evaluate([](float x) -> double { return -x; },
                      [](float x, double e) { return gated(x, e, -120); });
    case Activation::kMish:
      return evaluate([](float x) -> double { return x; },
                      [](float x, double e) { return mish(x, e); });
    case Activation::kErfDx:
      return evaluate(
          [](float x) { return -static_cast<double>(x) * x; },
          [](float, double e) { return static_cast<float>(1.12837916709551257390 * e); });
    default: return false;
  }
}

}  // namespace neuron_sim::activation_functions
