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

/// x tanh(log(1 + e)) = x n / (n + 2), n = e (e + 2).
inline float mish(float x, double e) {
  const double n = e * (e + 2.0);
  const double value = static_cast<double>(x) * (n / (n + 2.0));
  return static_cast<float>(x < -120.0F ? -0.0 : value);
}

}  // namespace

bool apply_exponential(Activation function, const float* source, float* target, int64_t count) {
  const auto evaluate = [&](auto argument, auto finish) {
    map_exponential(source, target, count, argument, finish);
    return true;
  };
  switch (function) {
    case Activation::kExp:
      return evaluate([](float x) -> double { return x; },
                      [](float, double e) { return static_cast<float>(e); });
    case Activation::kSigmoid:
      return evaluate([](float x) -> double { return -x; },
                      [](float, double e) { return static_cast<float>(1.0 / (1.0 + e)); });
    case Activation::kTanh: return evaluate([](float x) { return 2.0 * x; }, hyperbolic_tangent);
    case Activation::kGeluApproximateTanh:
      return evaluate(gelu_tanh_argument, [](float x, double e) { return gated(x, e, -30); });
    case Activation::kGeluApproximateSigmoid:
      return evaluate([](float x) { return -1.702 * x; },
                      [](float x, double e) { return gated(x, e, -70); });
    case Activation::kSilu:
      return evaluate([](float x) -> double { return -x; },
                      [](float x, double e) { return gated(x, e, -120); });
    case Activation::kMish: return evaluate([](float x) -> double { return x; }, mish);
    case Activation::kErfDx:
      return evaluate(
          [](float x) { return -static_cast<double>(x) * x; },
          [](float, double e) { return static_cast<float>(1.12837916709551257390 * e); });
    default: return false;
  }
}

}  // namespace neuron_sim::activation_functions
