// gather and scatter: single elements named by indices.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>

#include "csrc/aten/device_operator.h"
#include "csrc/aten/indexing.h"
#include "csrc/aten/movement.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Places in the flattened `self`, of the shape of `indices`, which name them along `dimension`.
Tensor places(const Tensor& self, int64_t dimension, const Tensor& indices) {
  const auto options = indices.options();
  Tensor place = indices * self.stride(dimension);
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i == dimension || indices.size(i) == 1) continue;
    at::DimVector shape(static_cast<size_t>(self.dim()), 1);
    shape[static_cast<size_t>(i)] = indices.size(i);
    place = place + (at::arange(indices.size(i), options) * self.stride(i)).view(shape);
  }
  return place;
}

/// Elements of a dense tensor as rows of one.
Tensor elements(const Tensor& tensor) { return tensor.view({-1, 1}); }

Tensor& gather_out(const Tensor& self, int64_t dimension, const Tensor& indices, bool /*sparse*/,
                   Tensor& out) {
  check_movable(self);
  check_indices(indices);
  at::native::resize_output(out, indices.sizes());
  check_apart(out, {self, indices});
  if (out.numel() == 0) return out;
  const Tensor dense = (self.dim() == 0 ? self.view(1) : self).contiguous();
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  const Tensor place = places(dense, at::maybe_wrap_dim(dimension, dense.dim()), named);
  const Tensor result = at::empty({out.numel(), 1}, out.options());
  gather_rows(elements(dense), place.reshape(-1), result);
  return out.copy_(result.view(out.sizes()));
}

/// Elements of the flattened tensor.
Tensor take(const Tensor& self, const Tensor& indices) {
  check_movable(self);
  check_indices(indices);
  const Tensor flat = self.reshape(-1);
  return at::gather(flat, 0, wrapped(indices.reshape(-1), flat.numel())).view(indices.sizes());
}

/// out = self with source at (or added to) the places that indices name along the dimension.
Tensor& scatter_into(const Tensor& self, int64_t dimension, const Tensor& indices,
                     const Tensor& source, bool add, Tensor& out) {
  check_movable(self);
  check_indices(indices);
  const at::ScalarType dtype = self.scalar_type();
  const at::ScalarType type = add ? addition_dtype(dtype, indices.numel()) : dtype;
  at::native::resize_output(out, self.sizes());
  check_apart(out, {indices, source});
  const Tensor own = (self.dim() == 0 ? self.view(1) : self).clone(at::MemoryFormat::Contiguous);
  const Tensor dense = own.to(type);
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  Tensor values = source.dim() == 0 ? source.view(1) : source;
  for (int64_t i = 0; i < named.dim(); ++i) values = values.narrow(i, 0, named.size(i));
  if (named.numel() > 0) {
    const Tensor place = places(dense, at::maybe_wrap_dim(dimension, dense.dim()), named);
    scatter_rows(elements(dense), place.reshape(-1), values.to(type).reshape({-1, 1}), add);
  }
  return out.copy_(sums_as(dense, dtype).view(out.sizes()));
}

Tensor& scatter_src_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                        const Tensor& source, Tensor& out) {
  return scatter_into(self, dimension, indices, source, false, out);
}

Tensor& scatter_value_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                          const at::Scalar& value, Tensor& out) {
  check_movable(self);
  Tensor source = at::empty(indices.sizes(), self.options());
  source.fill_(value);
  return scatter_into(self, dimension, indices, source, false, out);
}

Tensor& scatter_add_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                        const Tensor& source, Tensor& out) {
  return scatter_into(self, dimension, indices, source, true, out);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("gather.out", device_operator<gather_out>());
  m.impl("take", device_operator<take>());
  m.impl("scatter.src_out", device_operator<scatter_src_out>());
  m.impl("scatter.value_out", device_operator<scatter_value_out>());
  m.impl("scatter_add.out", device_operator<scatter_add_out>());
}

}  // namespace neuron_sim
