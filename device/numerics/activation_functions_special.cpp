// Activation functions built on the error function, logarithms and angles, and the derivatives,
// whose terms cancel near their roots and therefore need full double precision.

#include <cmath>

#include "device/numerics/rounded_estimates.h"

namespace neuron_sim::activation_functions {
namespace {

constexpr double kRootHalf = 0.707106781186547524401;

/// Phi(x) + x phi(x)
float gelu_derivative(float x) {
  constexpr double kDensity = 0.398942280401432677940;  // 1 / sqrt(2 pi)
  if (x < -40.0F) return -0.0F;
  if (x > 40.0F) return 1.0F;
  const double wide = x;
  const double density = kDensity * std::exp(-0.5 * wide * wide);
  return static_cast<float>(0.5 * std::erfc(-wide * kRootHalf) + wide * density);
}

/// The derivative of x s(a x), s the sigmoid: (1 + e + a x e) / (1 + e)^2, e = e^-(a x).
float gated_derivative(float x, double a) {
  const double scaled = a * x;
  if (scaled < -300.0) return -0.0F;
  if (scaled > 300.0) return 1.0F;
  const double e = std::exp(-scaled);
  const double sum = 1.0 + e;
  return static_cast<float>((sum + scaled * e) / (sum * sum));
}

float softplus(float x) {
  const double wide = x;
  return static_cast<float>((x > 0 ? wide : 0.0) + std::log1p(std::exp(-std::fabs(wide))));
}

/// Within the chip's range the sine, beyond it the cubic that touches it at pi.
float sine(float x) {
  constexpr double kPi = 3.14159265358979323846;
  const double wide = x;
  const double beyond = std::fabs(wide) - kPi;
  if (!(beyond > 0)) return static_cast<float>(std::sin(wide));
  return static_cast<float>(std::copysign(beyond, wide) * (beyond * beyond / 6.0 - 1.0));
}

}  // namespace

bool apply_special(Activation function, const float* source, float* target, int64_t count,
                   Vectors vectors) {
  const auto evaluate = [&](auto formula) {
    map(source, target, count, formula);
    return true;
  };
  const auto estimate = [&](auto estimator, auto formula) {
    map_estimated(source, target, count, vectors, estimator, formula);
    return true;
  };
  switch (function) {
    case Activation::kGeluDx: return evaluate(gelu_derivative);
    case Activation::kGeluApproximateSigmoidDx:
      return evaluate([](float x) { return gated_derivative(x, 1.702); });
    case Activation::kSiluDx: return evaluate([](float x) { return gated_derivative(x, 1); });
    case Activation::kSoftplus: return evaluate([](float x) { return x == x ? softplus(x) : x; });
    case Activation::kErf:
      return evaluate([](float x) { return static_cast<float>(std::erf(double{x})); });
    case Activation::kLog:
      return estimate(LogarithmEstimate(),
                      [](float x) { return static_cast<float>(std::log(double{x})); });
    case Activation::kSin: return estimate(SineEstimate(), sine);
    case Activation::kArctan:
      return estimate(ArcTangentEstimate(),
                      [](float x) { return static_cast<float>(std::atan(double{x})); });
    default: return false;
  }
}

}  // namespace neuron_sim::activation_functions
