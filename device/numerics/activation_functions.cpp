// The functions of the Scalar engine: names, tables and the exact ones.

#include "device/numerics/activation_functions.h"

#include <array>
#include <cmath>

#include "device/base/errors.h"
#include "device/numerics/activation_loops.h"

namespace neuron_sim {
namespace {

using Names = std::array<std::string_view, kActivationCount>;
constexpr Names kNames = {"copy",
                          "relu",
                          "exp",
                          "gelu",
                          "sigmoid",
                          "tanh",
                          "square",
                          "sqrt",
                          "rsqrt",
                          "gelu_dx",
                          "gelu_apprx_tanh",
                          "gelu_apprx_sigmoid",
                          "gelu_apprx_sigmoid_dx",
                          "silu",
                          "silu_dx",
                          "softplus",
                          "mish",
                          "erf",
                          "erf_dx",
                          "sign",
                          "abs",
                          "prelu",
                          "log",
                          "sin",
                          "arctan",
                          "reciprocal"};

float sign_of(float x) {
  if (x != x) return x;
  return static_cast<float>(static_cast<int>(x > 0) - static_cast<int>(x < 0));
}

}  // namespace

std::string_view name(Activation function) { return kNames[static_cast<size_t>(function)]; }

std::optional<Activation> parse_activation(std::string_view name) {
  if (name == "identity") return Activation::kIdentity;
  if (name == "absolute") return Activation::kAbs;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Activation>(i);
  }
  return std::nullopt;
}

int table_of(Activation function) {
  switch (function) {
    case Activation::kIdentity:
    case Activation::kRelu:
    case Activation::kSquare:
    case Activation::kSign:
    case Activation::kAbs:
    case Activation::kPrelu: return -1;
    case Activation::kLog: return static_cast<int>(Activation::kExp);
    default: return static_cast<int>(function);
  }
}

void apply(Activation function, const float* source, float* target, int64_t count, float slope) {
  using activation_functions::map;
  switch (function) {
    case Activation::kIdentity: return map(source, target, count, [](float x) { return x; });
    case Activation::kRelu:
      return map(source, target, count, [](float x) { return x < 0 ? 0.0F : x; });
    case Activation::kSquare: return map(source, target, count, [](float x) { return x * x; });
    case Activation::kSqrt: return map(source, target, count, [](float x) { return std::sqrt(x); });
    case Activation::kRsqrt:
      return map(source, target, count, [](float x) {
        return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
      });
    case Activation::kReciprocal:
      return map(source, target, count, [](float x) { return 1.0F / x; });
    case Activation::kSign: return map(source, target, count, sign_of);
    case Activation::kAbs: return map(source, target, count, [](float x) { return std::fabs(x); });
    case Activation::kPrelu:
      return map(source, target, count, [slope](float x) { return x > 0 ? x : slope * x; });
    default: break;
  }
  const bool known = activation_functions::apply_exponential(function, source, target, count) ||
                     activation_functions::apply_special(function, source, target, count);
  require(known, "unknown activation function");
}

}  // namespace neuron_sim
