// Padding by mirrored or repeated elements, as a selection of indices per dimension.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

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

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
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
}

}  // namespace neuron_sim
