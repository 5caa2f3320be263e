// max_unpool2d: elements back at the places of their maxima, zeros elsewhere.

#include <ATen/ops/scatter.h>
#include <ATen/ops/zeros.h>

#include "csrc/aten/dispatch/device_operator.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

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

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("max_unpool2d", device_operator<max_unpool2d>());
}

}  // namespace neuron_sim
