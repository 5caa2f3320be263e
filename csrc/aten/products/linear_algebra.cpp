// Linear algebra other than products of matrices: traces, cross products, distances of rows,
// eigenvalues.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sum.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

Tensor trace(const Tensor& self) {
  check_floating(self);
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return self.diagonal().sum();
}

/// Distances of all pairs of rows, by their norm of order p.
Tensor cdist_forward(const Tensor& first, const Tensor& second, double order,
                     std::optional<int64_t> /*mode*/) {
  check_floating(first);
  TORCH_CHECK(first.scalar_type() == second.scalar_type(), "cdist: X1 has the dtype ",
              first.scalar_type(), ", X2 ", second.scalar_type());
  if (first.size(-1) == 0) throw Refusal{"rows have no elements"};
  const Tensor differences = first.unsqueeze(-2) - second.unsqueeze(-3);
  // As in torch: unlike the norm of order 0 it keeps NaN.
  if (order == 0) return at::sum(at::clamp_max(at::ceil(at::abs(differences)), 1), IntArrayRef{-1});
  return at::linalg_vector_norm(differences, order, IntArrayRef{-1});
}

Tensor& cross_out(const Tensor& self, const Tensor& other, int64_t dimension, Tensor& out) {
  check_floating(self);
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "expected scalar type ",
              self.scalar_type(), " but found ", other.scalar_type());
  const auto turned = [&](const Tensor& tensor, int64_t steps) {
    return tensor.roll(-steps, at::maybe_wrap_dim(dimension, tensor.dim()));
  };
  return give_result(turned(self, 1) * turned(other, 2) - turned(self, 2) * turned(other, 1), out);
}

/// The CPU kernel passes matrices unchecked to LAPACK, which crashes on values that are not
/// finite; linalg_eig checks them.
Tensor eigenvalues(const Tensor& self) {
  TORCH_CHECK(self.isfinite().all().item<bool>(),
              "torch.linalg.eigvals: input tensor should not contain infs or NaNs.");
  throw Refusal{"eigenvalues are computed on the host"};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("trace", device_operator<trace>());
  m.impl("_cdist_forward", device_operator<cdist_forward>());
  m.impl("linalg_cross.out", device_operator<cross_out>());
  m.impl("_linalg_eigvals", device_operator<eigenvalues>());
}

}  // namespace neuron_sim
