// weight_norm: v g / |v|, norms over all dimensions but one; and PReLU's gradient.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::Tensor;

at::DimVector others(const Tensor& tensor, int64_t dimension) {
  const int64_t kept = at::maybe_wrap_dim(dimension, tensor.dim());
  at::DimVector dimensions;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (i != kept) dimensions.push_back(i);
  }
  return dimensions;
}

/// Sums over all dimensions but one, which stay with size 1. An empty list would mean all.
Tensor sums(const Tensor& tensor, int64_t dimension) {
  const at::DimVector dimensions = others(tensor, dimension);
  return dimensions.empty() ? tensor : at::sum(tensor, dimensions, true);
}

/// The weights, and the norms in fp32.
std::tuple<Tensor, Tensor> weight_norm(const Tensor& direction, const Tensor& length,
                                       int64_t dimension) {
  check_floating(direction);
  const c10::DeviceGuard guard(direction.device());
  const Tensor v = direction.to(at::kFloat), g = length.to(at::kFloat);
  const at::DimVector dimensions = others(v, dimension);
  const Tensor norm = dimensions.empty() ? v.abs() : at::linalg_vector_norm(v, 2, dimensions, true);
  return {(v * (g / norm)).to(direction.scalar_type()), norm};
}

/// With w = v g / n: dg = sum(dw v) / n, dv = (dw - v sum(dw v) / n^2) g / n.
std::tuple<Tensor, Tensor> weight_norm_backward(const Tensor& gradient, const Tensor& direction,
                                                const Tensor& length, const Tensor& norms,
                                                int64_t dimension) {
  check_floating(direction);
  const c10::DeviceGuard guard(direction.device());
  const Tensor dw = gradient.to(at::kFloat), v = direction.to(at::kFloat);
  const Tensor norm = norms.to(at::kFloat);
  const Tensor along = sums(dw * v, dimension) / norm;
  const Tensor dv = (dw - v * (along / norm)) * (length.to(at::kFloat) / norm);
  return {dv.to(direction.scalar_type()), along.to(length.scalar_type())};
}

/// For the input, and for the weight per element.
std::tuple<Tensor, Tensor> prelu_backward(const Tensor& gradient, const Tensor& self,
                                          const Tensor& weight) {
  check_floating(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor above = self.gt(0);
  return {at::where(above, gradient, gradient * weight),
          at::where(above, at::zeros_like(self), gradient * self)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_weight_norm_interface", device_operator<weight_norm>());
  m.impl("_weight_norm_interface_backward", device_operator<weight_norm_backward>());
  m.impl("_prelu_kernel_backward", device_operator<prelu_backward>());
}

}  // namespace neuron_sim
