// Gradients of losses and of dropout. Argument 0 is the gradient of the result.

#include "csrc/aten/pointwise/operator_table.h"
#include "ops/pointwise/functions.h"

namespace neuron_sim {
namespace {

using Arguments = PointwiseArguments;
using Value = ElementValue;

/// grad, mask, scale.
Value dropout(Arguments& a) { return a.value(0) * a.value(1) * a.number(2); }

/// The share of an element in the loss by its reduction: 1 is the mean.
double share(Arguments& a, size_t reduction) {
  return a.number(reduction) == 1 ? 1.0 / static_cast<double>(a.elements(1)) : 1.0;
}

/// grad, self, target, reduction.
Value mean_square(Arguments& a) {
  return (a.value(1) - a.value(2)) * (2 * share(a, 3)) * a.value(0);
}

/// grad, self, target, reduction, beta: a slope of at most one.
Value smooth_l1(Arguments& a) {
  const Value difference = a.value(1) - a.value(2);
  const double beta = a.number(4);
  const Value slope =
      beta == 0 ? call(Activation::kSign, difference) : clamped(difference * (1 / beta), -1, 1);
  return slope * share(a, 3) * a.value(0);
}

/// grad, self, target, reduction, delta.
Value huber(Arguments& a) {
  const double delta = a.number(4);
  return clamped(a.value(1) - a.value(2), -delta, delta) * share(a, 3) * a.value(0);
}

constexpr PointwiseRow kLossGradientRows[] = {
    {"native_dropout_backward", kFloat, kComputed, dropout, 0b1},
    {"mse_loss_backward mse_loss_backward.grad_input", kCommon, kComputed, mean_square, 0b111},
    {"smooth_l1_loss_backward.grad_input", kCommon, kComputed, smooth_l1, 0b111},
    {"huber_loss_backward.out", kCommon, kComputed, huber, 0b111},
};

}  // namespace

std::span<const PointwiseRow> loss_gradient_rows() { return kLossGradientRows; }

}  // namespace neuron_sim
