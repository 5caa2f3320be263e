#pragma once
// Activation functions by the C library, where there is no oneDNN or it is not exact.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include "device/base/errors.h"

namespace neuron_sim::reference {

[[noreturn]] inline void refuse_function(const std::string& name) {
  fail(text("reference: activation '", name, "' is unknown."));
}

/// The function of one value, NaN and infinities too.
inline double plain_function(const std::string& name, double x) {
  if (name == "relu") return std::isnan(x) ? x : std::max(x, 0.0);
  if (name == "exp") return std::exp(x);
  if (name == "gelu" && x < 0 && std::isinf(x)) return 0;  // the limit
  if (name == "gelu") return 0.5 * x * (1 + std::erf(x * std::numbers::sqrt2 / 2));
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "square") return x * x;
  if (name == "sqrt") return std::sqrt(x);
  if (name == "rsqrt") return 1 / std::sqrt(x);
  refuse_function(name);
}

/// Softmax of one row by definition.
inline void plain_softmax(float* row, int64_t features) {
  float largest = row[0];
  double sum = 0;
  for (int64_t i = 1; i < features; ++i) largest = std::max(largest, row[i]);
  for (int64_t i = 0; i < features; ++i) sum += std::exp(double{row[i]} - largest);
  for (int64_t i = 0; i < features; ++i) {
    row[i] = static_cast<float>(std::exp(double{row[i]} - largest) / sum);
  }
}

}  // namespace neuron_sim::reference
