#include "csrc/custom_ops/activation_functions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>
#include <ATen/ops/threshold_backward.h>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

using at::Tensor;

struct Function {
  std::string_view name;
  Tensor (*apply)(const Tensor& x);
  Tensor (*gradient)(const Tensor& g, const Tensor& x, const Tensor& y);
};

const Function kFunctions[] = {
    {"identity", [](const Tensor& x) { return x; },
     [](const Tensor& g, const Tensor&, const Tensor&) { return g; }},
    {"relu", [](const Tensor& x) { return at::relu(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) {
       return at::threshold_backward(g, y, 0);
     }},
    {"exp", [](const Tensor& x) { return at::exp(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) { return g * y; }},
    {"gelu", [](const Tensor& x) { return at::gelu(x); },
     [](const Tensor& g, const Tensor& x, const Tensor&) { return at::gelu_backward(g, x); }},
    {"sigmoid", [](const Tensor& x) { return at::sigmoid(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) { return at::sigmoid_backward(g, y); }},
    {"tanh", [](const Tensor& x) { return at::tanh(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) { return at::tanh_backward(g, y); }},
    {"square", [](const Tensor& x) { return at::square(x); },
     [](const Tensor& g, const Tensor& x, const Tensor&) { return g * x * 2; }},
    {"sqrt", [](const Tensor& x) { return at::sqrt(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) { return g / (y * 2); }},
    {"rsqrt", [](const Tensor& x) { return at::rsqrt(x); },
     [](const Tensor& g, const Tensor&, const Tensor& y) { return g * y.pow(3) * -0.5; }},
    {"softmax", [](const Tensor& x) { return at::softmax(x, -1); },
     [](const Tensor& g, const Tensor& x, const Tensor& y) {
       return at::_softmax_backward_data(g, y, -1, x.scalar_type());
     }},
};

const Function& function_of(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return function;
  }
  throw SimulatorBug(text("activation '", name, "' has no PyTorch composition"));
}

}  // namespace

Tensor apply_activation(const Tensor& x, std::string_view activation) {
  return function_of(activation).apply(x);
}

Tensor activation_gradient(const Tensor& gradient, const Tensor& x, const Tensor& y,
                           std::string_view activation) {
  return function_of(activation).gradient(gradient, x, y);
}

}  // namespace neuron_sim
