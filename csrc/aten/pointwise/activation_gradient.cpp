// Gradients of the activation functions. Argument 0 is the gradient of the result.

#include <limits>
#include <numbers>

#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

Value where(AluOp op, Value x, double limit, Value then, Value otherwise) {
  return select(compare(op, x, limit), then, otherwise);
}

Value threshold(Arguments& a) {
  return where(AluOp::kLessEqual, a.value(1), a.number(2), a.constant(0), a.value(0));
}

Value sigmoid(Arguments& a) { return a.value(0) * ((1.0 - a.value(1)) * a.value(1)); }
Value tanh(Arguments& a) { return a.value(0) * (1.0 - a.value(1) * a.value(1)); }
Value silu(Arguments& a) { return a.value(0) * call(Activation::kSiluDx, a.value(1)); }

Value gelu(Arguments& a) {
  const Value x = a.value(1);
  if (a.text(2) != "tanh") return a.value(0) * call(Activation::kGeluDx, x);
  const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, cubic = 0.044715;
  const Value square = x * x;
  const Value t = call(Activation::kTanh, (square * cubic + 1.0) * x * root);
  const Value slope = (1.0 - t * t) * (square * (3 * cubic * root) + root);
  return a.value(0) * ((t + 1.0) * 0.5 + x * slope * 0.5);
}

Value hard_tanh(Arguments& a) {
  const Value x = a.value(1);
  return where(AluOp::kLessEqual, x, a.number(2), a.constant(0),
               where(AluOp::kGreaterEqual, x, a.number(3), a.constant(0), a.value(0)));
}

Value hard_swish(Arguments& a) {
  const Value x = a.value(1);
  const Value middle = a.value(0) * (x * (1.0 / 3) + 0.5);
  return where(AluOp::kLessEqual, x, -3, a.constant(0),
               where(AluOp::kLess, x, 3, middle, a.value(0)));
}

Value hard_sigmoid(Arguments& a) {
  const Value inside = compare(AluOp::kLess, absolute(a.value(1)), 3);
  return select(inside, a.value(0) * (1.0 / 6), a.constant(0));
}

Value leaky_relu(Arguments& a) {
  return where(AluOp::kGreater, a.value(1), 0, a.value(0), a.value(0) * a.number(2));
}

/// grad, alpha, scale, input_scale, is_result, self_or_result.
Value elu(Arguments& a) {
  const double alpha = a.number(1) * a.number(2), input_scale = a.number(3);
  const Value x = a.value(5);
  const Value slope = a.flag(4) ? (x + alpha) * input_scale
                                : call(Activation::kExp, minimum(x, a.constant(0)) * input_scale) *
                                      (alpha * input_scale);
  return where(AluOp::kLessEqual, x, 0, a.value(0) * slope, a.value(0) * a.number(2));
}

Value softplus(Arguments& a) {
  const Value scaled = a.value(1) * a.number(2);
  return where(AluOp::kGreater, scaled, a.number(3), a.value(0),
               a.value(0) * call(Activation::kSigmoid, scaled));
}

Value shrink(Arguments& a) {
  return where(AluOp::kLessEqual, absolute(a.value(1)), a.number(2), a.constant(0), a.value(0));
}

Value logit(Arguments& a) {
  const Value x = a.value(1);
  const bool limited = a.has(2) && a.number(2) >= 0;
  const double lowest = limited ? a.number(2) : 0;
  const Value outside = a.constant(limited ? 0 : std::numeric_limits<double>::quiet_NaN());
  const Value inside = a.value(0) / (x * (1.0 - x));
  return where(AluOp::kLess, x, lowest, outside,
               where(AluOp::kGreater, x, 1 - lowest, outside, inside));
}

Value log_sigmoid(Arguments& a) { return a.value(0) * call(Activation::kSigmoid, -a.value(1)); }

constexpr PointwiseRow kActivationGradientRows[] = {
    {"threshold_backward.grad_input", kCommon, kComputed, threshold, 0b11},
    {"sigmoid_backward.grad_input", kCommon, kComputed, sigmoid, 0b11},
    {"tanh_backward.grad_input", kCommon, kComputed, tanh, 0b11},
    {"gelu_backward.grad_input", kCommon, kComputed, gelu, 0b11},
    {"silu_backward.grad_input", kCommon, kComputed, silu, 0b11},
    {"hardtanh_backward hardtanh_backward.grad_input", kCommon, kComputed, hard_tanh, 0b11},
    {"hardswish_backward", kCommon, kComputed, hard_swish, 0b11},
    {"hardsigmoid_backward.grad_input", kCommon, kComputed, hard_sigmoid, 0b11},
    {"leaky_relu_backward.grad_input", kCommon, kComputed, leaky_relu, 0b11},
    {"elu_backward.grad_input", kCommon, kComputed, elu, 0b100001},
    {"softplus_backward.grad_input", kCommon, kComputed, softplus, 0b11},
    {"softshrink_backward.grad_input hardshrink_backward.grad_input", kCommon, kComputed, shrink,
     0b11},
    {"logit_backward.grad_input", kCommon, kComputed, logit, 0b11},
    {"log_sigmoid_backward log_sigmoid_backward.grad_input", kCommon, kComputed, log_sigmoid, 0b11},
};

}  // namespace

std::span<const PointwiseRow> activation_gradient_rows() { return kActivationGradientRows; }

}  // namespace neuron_sim
