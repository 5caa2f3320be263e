// gather and scatter: single elements named by indices.

#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ScatterGatherChecks.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/indexing/write_rows.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Places in the flattened dense `self`, of the shape of `indices`, which name them along
/// `dimension`.
Tensor places(const Tensor& self, int64_t dimension, const Tensor& indices) {
  at::DimVector steps(self.strides());
  const auto at = static_cast<size_t>(dimension);
  const IndexBounds bounds{self.size(dimension), OutOfBounds::kElement, dimension};
  const IndexedDimension indexed{indices, bounds, steps[at]};
  steps[at] = 0;
  return row_numbers({indexed}, steps);
}

Tensor& gather_out(const Tensor& self, int64_t dimension, const Tensor& indices, bool /*sparse*/,
                   Tensor& out) {
  check_movable(self);
  check_indices(indices);
  const int64_t along = at::maybe_wrap_dim(dimension, self.dim());
  if (indices.numel() > 0) at::native::gather_shape_check(self, along, indices);
  check_out_dtype(out, self.scalar_type());
  at::native::resize_output(out, indices.sizes());
  check_apart(out, {self, indices});
  if (out.numel() == 0) return out;
  const Tensor dense = (self.dim() == 0 ? self.view(1) : self).contiguous();
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  const Tensor place = places(dense, at::maybe_wrap_dim(dimension, dense.dim()), named);
  gather_elements(dense, place, out);
  return out;
}

/// Elements of the flattened tensor.
Tensor take(const Tensor& self, const Tensor& indices) {
  check_movable(self);
  TORCH_CHECK(indices.scalar_type() == at::kLong, "take(): Expected a long tensor for index, but ",
              "got ", indices.scalar_type());
  check_indices(indices);
  const c10::DeviceGuard guard(self.device());
  const Tensor out = at::empty(indices.sizes(), self.options());
  if (out.numel() == 0) return out;
  TORCH_CHECK_INDEX(self.numel() > 0, "take(): tried to take from an empty tensor");
  const IndexBounds bounds{self.numel(), OutOfBounds::kTaken, 0, /*from_end=*/true};
  const Tensor named = indices.reshape(-1);
  gather_elements(self.contiguous(), row_numbers({{named, bounds}}, {0}), out);
  return out;
}

/// out = self with source at (or added to) the places that indices name along the dimension.
Tensor& scatter_into(const Tensor& self, int64_t dimension, const Tensor& indices,
                     const Tensor& source, bool add, Tensor& out) {
  check_movable(self);
  check_indices(indices);
  at::native::scatter_shape_check(self, at::maybe_wrap_dim(dimension, self.dim()), indices, source);
  if (add) addition_dtype(self.scalar_type(), indices.numel());  // refuses before anything changes
  check_out_dtype(out, self.scalar_type());
  at::native::resize_output(out, self.sizes());
  check_apart(out, {indices, source});
  if (!out.is_same(self)) out.copy_(self);
  const Tensor whole = out.dim() == 0 ? out.view(1) : out;
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  Tensor values = source.dim() == 0 ? source.view(1) : source;
  for (int64_t i = 0; i < named.dim(); ++i) {
    if (values.size(i) > named.size(i)) values = values.narrow(i, 0, named.size(i));
  }
  const int64_t at = at::maybe_wrap_dim(dimension, whole.dim());
  write_elements(whole, {at, named, {whole.size(at), OutOfBounds::kElement, at}}, values, add);
  return out;
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
