// glu and its gradient, compositions over the halves of a dimension.

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

Tensor& glu_out(const Tensor& self, int64_t dimension, Tensor& out) {
  check_floating(self);
  const int64_t half = self.size(dimension) / 2;
  return give_result(
      self.narrow(dimension, 0, half) * at::sigmoid(self.narrow(dimension, half, half)), out);
}

/// g s and g a s (1 - s) of the halves a and b with s = sigmoid(b).
Tensor glu_backward(const Tensor& gradient, const Tensor& self, int64_t dimension) {
  check_floating(self);
  const int64_t half = self.size(dimension) / 2;
  const Tensor first = self.narrow(dimension, 0, half);
  const Tensor gate = at::sigmoid(self.narrow(dimension, half, half));
  return at::cat({gradient * gate, gradient * first * gate * (1 - gate)}, dimension);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("glu.out", device_operator<glu_out>());
  m.impl("glu_backward", device_operator<glu_backward>());
}

}  // namespace neuron_sim
