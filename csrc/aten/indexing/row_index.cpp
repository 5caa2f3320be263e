// Rows named by one index tensor: embedding, index_select, index_add and their relatives.

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <cmath>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/index_bounds.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/indexing/write_rows.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Bounds of the indices of selected slices, with the errors of torch's CPU.
void check_rows(const Tensor& self, int64_t dimension, const Tensor& indices) {
  if (indices.numel() == 0) return;
  const int64_t size = self.size(dimension);
  if (self.dim() == 1) TORCH_CHECK_INDEX(size > 0, "index out of range in self");
  TORCH_CHECK(size > 0, "index_select(): self indexing axis dim should be positive");
  const bool slices = self.numel() == 0 || (dimension == 1 && self.dim() > 1);
  const auto error = slices ? OutOfBounds::kSelectedSlice : OutOfBounds::kRowOfSelf;
  check_bounds(indices, {size, error, dimension});
}

Tensor embedding(const Tensor& weight, const Tensor& indices, c10::SymInt /*padding*/,
                 bool /*scale_by_frequency*/, bool /*sparse*/) {
  check_movable(weight);
  check_indices(indices);
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  const c10::DeviceGuard guard(weight.device());
  check_rows(weight, 0, indices);
  at::DimVector shape(indices.sizes());
  shape.push_back(weight.size(1));
  Tensor out = at::empty(shape, weight.options());
  gather_rows(weight, indices.reshape(-1), out.view({indices.numel(), weight.size(1)}));
  return out;
}

Tensor embedding_dense_backward(const Tensor& gradient, const Tensor& indices, c10::SymInt rows,
                                c10::SymInt padding, bool scale_by_frequency) {
  check_movable(gradient);
  check_indices(indices);
  if (scale_by_frequency) throw Refusal{"the gradient is scaled by frequencies"};
  const c10::DeviceGuard guard(gradient.device());
  const int64_t count = rows.expect_int(), width = gradient.size(-1);
  check_bounds(indices, {count, OutOfBounds::kRowOfSelf});
  // Sums are in fp32, rounded once to a reduced precision.
  const Tensor sums = at::zeros({count, width}, gradient.options().dtype(at::kFloat));
  scatter_rows(sums, indices.reshape(-1), gradient.reshape({indices.numel(), width}).to(at::kFloat),
               true);
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
  TORCH_CHECK(out.scalar_type() == self.scalar_type(),
              "index_select(): self and result must have the same scalar type");
  at::DimVector shape(self.sizes());
  shape[static_cast<size_t>(at)] = indices.numel();
  check_rows(self, at, indices);
  check_apart(out, {self, indices});
  at::native::resize_output(out, shape);
  if (out.numel() == 0) return out;
  const Tensor table = leading(self, at);
  const bool direct = at == 0 && out.is_contiguous();
  const Tensor rows = direct ? out.view({indices.numel(), table.size(1)})
                             : at::empty({indices.numel(), table.size(1)}, self.options());
  gather_rows(table, indices.reshape(-1), rows);
  if (direct) return out;
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

/// RuntimeError unless there is an index for every slice of `source`, all of the shape of the
/// slices of `self`. Structured operators have checked that before, except with out=.
void check_slices(const char* name, const Tensor& self, int64_t dimension, const Tensor& indices,
                  const Tensor& source) {
  const int64_t slices = source.dim() == 0 ? 1 : source.size(dimension);
  TORCH_CHECK(indices.numel() == slices, name, ": Number of indices (", indices.numel(),
              ") should be equal to source.size(dim): (", slices, "), for dim: ", dimension);
  at::DimVector expected(self.sizes()), found(source.sizes());
  if (source.dim() == 0) found = expected;
  expected[static_cast<size_t>(dimension)] = slices;
  TORCH_CHECK(
      found == expected,
      "source tensor shape must match self tensor shape, excluding the specified dimension. "
      "Got self.shape = ",
      self.sizes(), " source.shape = ", source.sizes());
}

/// self with rows of `source` along a dimension put, or added, at the indices.
Tensor& index_rows_out(const Tensor& self, const Tensor& indices, const IndexBounds& bounds,
                       const Tensor& source, bool add, Tensor& out) {
  check_movable(self);
  check_indices(indices);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  if (add) addition_dtype(self.scalar_type(), indices.numel());  // refuses before anything changes
  check_out_dtype(out, self.scalar_type());
  at::native::resize_output(out, self.sizes());
  if (!out.is_same(self)) out.copy_(self);
  const Tensor rows = source.dim() == 0 ? source.view(1) : source.movedim(bounds.dimension, 0);
  write_named(out, {{bounds.dimension, indices.reshape(-1), bounds}}, rows, add);
  return out;
}

IndexBounds bounds_of(const Tensor& self, int64_t dimension, OutOfBounds error) {
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  return {self.dim() == 0 ? 1 : self.size(at), error, at};
}

Tensor& index_add_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                      const Tensor& source, const at::Scalar& alpha, Tensor& out) {
  const auto error = self.dim() > 1 ? OutOfBounds::kElement : OutOfBounds::kRowOfSelf;
  const IndexBounds bounds = bounds_of(self, dimension, error);
  if (self.dim() > 0) check_slices("index_add_()", self, bounds.dimension, indices, source);
  check_apart(out, {indices, source});
  TORCH_CHECK(self.is_floating_point() || self.scalar_type() == at::kBool ||
                  std::isfinite(alpha.toDouble()),
              "value ", alpha.toDouble(), " cannot be converted to type ", self.scalar_type(),
              " without overflow");
  const Tensor scaled = alpha.toDouble() == 1 ? source : source * alpha;
  return index_rows_out(self, indices, bounds, scaled, true, out);
}

Tensor& index_copy_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                       const Tensor& source, Tensor& out) {
  const IndexBounds bounds = bounds_of(self, dimension, OutOfBounds::kCopiedRow);
  if (self.dim() > 0) check_slices("index_copy_()", self, bounds.dimension, indices, source);
  check_apart(out, {indices, source});
  return index_rows_out(self, indices, bounds, source, false, out);
}

Tensor& index_fill(Tensor& self, int64_t dimension, const Tensor& indices,
                   const at::Scalar& value) {
  check_movable(self);
  if (self.dim() == 0) throw Refusal{"the tensor has no dimensions"};
  const c10::DeviceGuard guard(self.device());
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "Use of index_fill_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. tensor[mask] = "
        "scalar");
  }
  TORCH_CHECK(!value.isComplex(),
              "index_fill_(): Converting complex Scalar to non-complex type is not supported");
  TORCH_CHECK_INDEX(indices.scalar_type() == at::kLong,
                    "index_fill_(): Expected dtype int64 for index.");
  TORCH_CHECK(indices.dim() <= 1, "Index has to be a vector/scalar");
  IndexBounds bounds = bounds_of(self, dimension, OutOfBounds::kDimension);
  bounds.from_end = true;
  at::DimVector shape(self.sizes());
  shape[static_cast<size_t>(bounds.dimension)] = indices.numel();
  Tensor source = at::empty(shape, self.options());
  source.fill_(value);
  return index_rows_out(self, indices, bounds, source, false, self);
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
