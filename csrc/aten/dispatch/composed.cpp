// Operators that are compositions of others on the device, where torch instead has a dedicated CPU
// kernel.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/all.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mode.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
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

Tensor& nansum_out(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep,
                   std::optional<at::ScalarType> dtype, Tensor& out) {
  check_floating(self);
  return give_result(at::sum(self.nan_to_num(0, INFINITY, -INFINITY), dimensions, keep, dtype),
                     out);
}

/// Exact, in int64; a NaN is not zero.
Tensor count_nonzero(const Tensor& self, IntArrayRef dimensions) {
  check_computable(self.scalar_type());
  return at::ne(self, 0).sum(dimensions);
}

Tensor nansum(const Tensor& self, at::OptionalIntArrayRef dimensions, bool keep,
              std::optional<at::ScalarType> dtype) {
  check_floating(self);
  return at::sum(self.nan_to_num(0, INFINITY, -INFINITY), dimensions, keep, dtype);
}

std::tuple<Tensor&, Tensor&> aminmax_out(const Tensor& self, std::optional<int64_t> dimension,
                                         bool keep, Tensor& smallest, Tensor& largest) {
  check_computable(self.scalar_type());
  for (const Tensor& out : {smallest, largest}) {
    check_out_dtype(out, self.scalar_type());
  }
  const at::DimVector dimensions = dimension ? at::DimVector{*dimension} : at::DimVector{};
  give_result(at::amin(self, dimensions, keep), smallest);
  give_result(at::amax(self, dimensions, keep), largest);
  return std::tie(smallest, largest);
}

Tensor trace(const Tensor& self) {
  check_floating(self);
  TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  return self.diagonal().sum();
}

bool equal(const Tensor& self, const Tensor& other) {
  check_computable(self.scalar_type());
  if (self.sizes() != other.sizes()) return false;
  return self.numel() == 0 || at::all(at::eq(self, other)).item<bool>();
}

/// Whether each element equals one of `others`: all pairs are compared.
Tensor& isin_out(const Tensor& self, const Tensor& others, bool /*unique*/, bool invert,
                 Tensor& out) {
  check_computable(self.scalar_type());
  if (others.numel() == 0 || self.numel() == 0) throw Refusal{"there are no elements"};
  const Tensor found = at::eq(self.unsqueeze(-1), others.reshape(-1)).any(-1);
  return give_result(invert ? found.logical_not() : found, out);
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

/// Places before, inside and after a dimension, mirrored or repeated at its edges.
Tensor edge_indices(const Tensor& self, int64_t size, int64_t before, int64_t after,
                    bool mirrored) {
  Tensor index = at::arange(-before, size + after, at::TensorOptions().dtype(at::kLong));
  if (mirrored) index = (size - 1) - ((size - 1) - index.abs()).abs();
  return index.clamp(0, size - 1).to(self.device());
}

Tensor padded(const Tensor& self, IntArrayRef padding, bool mirrored) {
  check_floating(self);
  if (self.numel() == 0) throw Refusal{"there are no elements"};
  Tensor result = self;
  for (size_t i = 0; 2 * i < padding.size(); ++i) {
    const int64_t dimension = self.dim() - 1 - static_cast<int64_t>(i);
    const int64_t before = padding[2 * i], after = padding[2 * i + 1], size = self.size(dimension);
    if (before < 0 || after < 0) throw Refusal{"a padding is negative"};
    TORCH_CHECK(!mirrored || (before < size && after < size),
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                "but got: padding (",
                before, ", ", after, ") at dimension ", dimension, " of input ", self.sizes());
    result = result.index_select(dimension, edge_indices(self, size, before, after, mirrored));
  }
  return result;
}

template <bool mirrored>
Tensor& pad_out(const Tensor& self, IntArrayRef padding, Tensor& out) {
  return give_result(padded(self, padding, mirrored), out);
}

Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding) {
  return padded(self, padding, true);
}

/// Sums the gradients of the padded places, dimension by dimension.
template <bool mirrored>
Tensor pad_backward(const Tensor& gradient, const Tensor& self, IntArrayRef padding) {
  check_floating(self);
  Tensor result = gradient;
  for (size_t i = 0; 2 * i < padding.size(); ++i) {
    const int64_t dimension = self.dim() - 1 - static_cast<int64_t>(i), size = self.size(dimension);
    if (padding[2 * i] < 0 || padding[2 * i + 1] < 0) throw Refusal{"a padding is negative"};
    at::DimVector shape(result.sizes());
    shape[static_cast<size_t>(dimension)] = size;
    const Tensor sums = at::zeros(shape, result.options());
    result = sums.index_add(
        dimension, edge_indices(self, size, padding[2 * i], padding[2 * i + 1], mirrored), result);
  }
  return result;
}

template <bool mirrored>
Tensor& pad_backward_out(const Tensor& gradient, const Tensor& self, IntArrayRef padding,
                         Tensor& out) {
  return give_result(pad_backward<mirrored>(gradient, self, padding), out);
}

Tensor max_unpool2d(const Tensor& self, const Tensor& indices, IntArrayRef size) {
  check_floating(self);
  TORCH_CHECK(self.sizes() == indices.sizes(),
              "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  TORCH_CHECK(indices.scalar_type() == at::kLong, "elements in indices should be type int64 but ",
              "got: ", indices.scalar_type());
  TORCH_CHECK(size.size() == 2,
              "There should be exactly two elements (height, width) in "
              "output_size, but got ",
              size.size(), " elements.");
  for (int64_t i = 1; i < self.dim(); ++i) {
    TORCH_CHECK(self.size(i) > 0,
                "max_unpooling2d: Expected input to have non-zero size for non-batch dimensions, "
                "but got ",
                self.sizes(), " with dimension ", i, " being empty.");
  }
  at::DimVector shape(self.sizes());
  shape[shape.size() - 2] = size[0];
  shape[shape.size() - 1] = size[1];
  if (self.numel() == 0) return at::zeros(shape, self.options());
  const int64_t planes = self.numel() / (self.size(-1) * self.size(-2));
  const Tensor empty = at::zeros({planes, size[0] * size[1]}, self.options());
  return at::scatter(empty, 1, indices.reshape({planes, -1}), self.reshape({planes, -1}))
      .view(shape);
}

/// torch's kernel for this overload lists the devices that it accepts.
std::tuple<Tensor&, Tensor&> mode_out(const Tensor& self, int64_t dimension, bool keep,
                                      Tensor& values, Tensor& indices) {
  TORCH_CHECK(values.device() == self.device() && indices.device() == self.device(),
              "expected device '", self.device(), "' but got '", values.device(),
              "' for values output and '", indices.device(), "' for indices output");
  TORCH_CHECK(values.scalar_type() == self.scalar_type(), "expected scalar type '",
              self.scalar_type(), "' but got '", values.scalar_type(), "' for values output");
  TORCH_CHECK(indices.scalar_type() == at::kLong, "expected scalar type '", at::kLong,
              "' but got '", indices.scalar_type(), "' for indices output");
  const auto [found, places] = at::mode(self, dimension, keep);
  return {give_result(found, values), give_result(places, indices)};
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
  m.impl("_linalg_eigvals", device_operator<eigenvalues>());
  m.impl("glu.out", device_operator<glu_out>());
  m.impl("glu_backward", device_operator<glu_backward>());
  m.impl("count_nonzero.dim_IntList", device_operator<count_nonzero>());
  m.impl("nansum", device_operator<nansum>());
  m.impl("nansum.out", device_operator<nansum_out>());
  m.impl("aminmax.out", device_operator<aminmax_out>());
  m.impl("isin.Tensor_Tensor_out", device_operator<isin_out>());
  m.impl("mode.values", mode_out);
  m.impl("trace", device_operator<trace>());
  m.impl("equal", device_operator<equal>());
  m.impl("_cdist_forward", device_operator<cdist_forward>());
  m.impl("linalg_cross.out", device_operator<cross_out>());
  m.impl("reflection_pad1d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad2d", device_operator<reflection_pad2d>());
  m.impl("reflection_pad2d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad2d_backward", device_operator<pad_backward<true>>());
  m.impl("reflection_pad2d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("reflection_pad3d.out", device_operator<pad_out<true>>());
  m.impl("reflection_pad3d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("replication_pad3d.out", device_operator<pad_out<false>>());
  m.impl("replication_pad3d_backward", device_operator<pad_backward<false>>());
  m.impl("replication_pad1d.out", device_operator<pad_out<false>>());
  m.impl("replication_pad2d.out", device_operator<pad_out<false>>());
  m.impl("reflection_pad1d_backward.grad_input", device_operator<pad_backward_out<true>>());
  m.impl("replication_pad1d_backward.grad_input", device_operator<pad_backward_out<false>>());
  m.impl("replication_pad2d_backward", device_operator<pad_backward<false>>());
  m.impl("max_unpool2d", device_operator<max_unpool2d>());
}

}  // namespace neuron_sim
