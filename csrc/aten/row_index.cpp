// Rows named by one index tensor: embedding, index_select, index_add and their relatives.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/device_operator.h"
#include "csrc/aten/indexing.h"
#include "csrc/aten/movement.h"

namespace neuron_sim {
namespace {

using at::Tensor;

Tensor embedding(const Tensor& weight, const Tensor& indices, c10::SymInt /*padding*/,
                 bool /*scale_by_frequency*/, bool /*sparse*/) {
  check_movable(weight);
  check_indices(indices);
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  const c10::DeviceGuard guard(weight.device());
  at::DimVector shape(indices.sizes());
  shape.push_back(weight.size(1));
  Tensor out = at::empty(shape, weight.options());
  gather_rows(weight, indices.reshape(-1), out.view({-1, weight.size(1)}));
  return out;
}

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, c10::SymInt rows,
                                c10::SymInt padding, bool scale_by_frequency) {
  check_movable(gradient);
  check_indices(indices);
  if (scale_by_frequency) throw Refusal{"the gradient is scaled by frequencies"};
  const c10::DeviceGuard guard(gradient.device());
  const int64_t count = rows.expect_int(), width = gradient.size(-1);
  // Sums are in fp32; a reduced precision is rounded to once.
  const Tensor sums = at::zeros({count, width}, gradient.options().dtype(at::kFloat));
  scatter_rows(sums, indices.reshape(-1), gradient.reshape({-1, width}).to(at::kFloat), true);
  const int64_t unused = padding.expect_int();
  if (unused >= 0) sums.select(0, unused).zero_();
  return sums.to(gradient.scalar_type());
}

Tensor& index_select_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                         Tensor& out) {
  check_movable(self);
  check_indices(indices);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  TORCH_CHECK_INDEX(indices.dim() <= 1, "index_select(): Index is supposed to be a vector");
  at::DimVector shape(self.sizes());
  shape[static_cast<size_t>(at)] = indices.numel();
  check_apart(out, {self, indices});
  at::native::resize_output(out, shape);
  if (out.numel() == 0) return out;
  const Tensor table = leading(self, at);
  const Tensor rows = at::empty({indices.numel(), table.size(1)}, self.options());
  gather_rows(table, indices.reshape(-1), rows);
  at::DimVector moved{indices.numel()};
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != at) moved.push_back(self.size(i));
  }
  out.copy_(rows.view(moved).movedim(0, at));
  return out;
}

Tensor index_select(const Tensor& self, int64_t dimension, const Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return index_select_out(self, dimension, indices, out);
}

/// self with rows of `source` along a dimension put, or added, where the indices say; negative
/// ones are out of bounds.
Tensor& index_rows_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                       const Tensor& source, bool add, Tensor& out) {
  check_movable(self);
  check_indices(indices);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  const at::ScalarType dtype = self.scalar_type();
  const at::ScalarType type = add ? addition_dtype(dtype, indices.numel()) : dtype;
  at::native::resize_output(out, self.sizes());
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  const Tensor table = leading(self, at).to(type).clone(at::MemoryFormat::Contiguous);
  if (source.numel() > 0) {
    scatter_rows(table, indices.reshape(-1), leading(source, at).to(type), add);
  }
  out.movedim(at, 0).copy_(sums_as(table, dtype).view(out.movedim(at, 0).sizes()));
  return out;
}

Tensor& index_add_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                      const Tensor& source, const at::Scalar& alpha, Tensor& out) {
  const Tensor scaled = alpha.toDouble() == 1 ? source : source * alpha;
  return index_rows_out(self, dimension, indices, scaled, true, out);
}

Tensor& index_copy_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                       const Tensor& source, Tensor& out) {
  return index_rows_out(self, dimension, indices, source, false, out);
}

Tensor& index_fill(Tensor& self, int64_t dimension, const Tensor& indices,
                   const at::Scalar& value) {
  check_movable(self);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  const c10::DeviceGuard guard(self.device());
  at::DimVector shape(self.sizes());
  shape[static_cast<size_t>(at::maybe_wrap_dim(dimension, self.dim()))] = indices.numel();
  Tensor source = at::empty(shape, self.options());
  source.fill_(value);
  const Tensor rows = wrapped(indices, self.size(dimension));
  return index_rows_out(self, dimension, rows, source, false, self);
}

Tensor& index_fill_tensor(Tensor& self, int64_t dimension, const Tensor& indices,
                          const Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "index_fill_ only supports a 0-dimensional value tensor, but got "
              "tensor with ",
              value.dim(), " dimension(s).");
  return index_fill(self, dimension, indices, value.item());
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("embedding", device_operator<embedding>());
  m.impl("embedding_dense_backward", device_operator<embedding_dense_backward>());
  m.impl("index_select", device_operator<index_select>());
  m.impl("index_select.out", device_operator<index_select_out>());
  m.impl("index_add.out", device_operator<index_add_out>());
  m.impl("index_copy.out", device_operator<index_copy_out>());
  m.impl("index_fill_.int_Tensor", device_operator<index_fill_tensor>());
  m.impl("index_fill_.int_Scalar", device_operator<index_fill>());
}

}  // namespace neuron_sim
