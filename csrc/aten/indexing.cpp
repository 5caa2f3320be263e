// Operators that move elements to or from places that a tensor names, and cat.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/device_operator.h"
#include "csrc/aten/movement.h"
#include "csrc/tensor_access.h"

namespace neuron_sim {
namespace {

using at::Tensor;

void check_movable(const Tensor& tensor) {
  dtype_of(tensor.scalar_type());  // KernelError for dtypes that the chip has not
  if (tensor.is_conj() || tensor.is_neg()) throw Refusal{"an operand is a lazy conjugate"};
}

void check_indices(const Tensor& indices) {
  const at::ScalarType type = indices.scalar_type();
  if (type != at::kLong && type != at::kInt) throw Refusal{"indices are not int64 or int32"};
  if (!on_device(indices)) throw Refusal{"indices are not on the device"};
}

/// -1 is the last one.
Tensor wrapped(const Tensor& indices, int64_t size) {
  return at::where(indices.lt(0), indices.add(size), indices);
}

Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dimension, Tensor& out) {
  const auto list = tensors.materialize();
  for (const Tensor& tensor : list) {
    if (!copies_on_device(tensor, out)) throw Refusal{"a tensor is not of a dtype to cast here"};
  }
  int64_t start = 0;
  for (const Tensor& tensor : list) {
    if (tensor.dim() == 1 && tensor.numel() == 0) continue;  // torch skips these of any rank
    const int64_t wrapped_dimension = at::maybe_wrap_dim(dimension, out.dim());
    const int64_t size = tensor.size(wrapped_dimension);
    if (tensor.numel() > 0) {
      copy_on_device(tensor, out.narrow(wrapped_dimension, start, size));
    }
    start += size;
  }
  return out;
}

Tensor embedding(const Tensor& weight, const Tensor& indices, c10::SymInt /*padding*/,
                 bool /*scale_by_frequency*/, bool /*sparse*/) {
  check_movable(weight);
  check_indices(indices);
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

/// The tensor as [its dimension first, the others].
Tensor leading(const Tensor& tensor, int64_t dimension) {
  const Tensor moved = tensor.dim() == 0 ? tensor.view(1) : tensor.movedim(dimension, 0);
  return moved.reshape({moved.size(0), -1});
}

Tensor& index_select_out(const Tensor& self, int64_t dimension, const Tensor& indices,
                         Tensor& out) {
  check_movable(self);
  check_indices(indices);
  const int64_t at = at::maybe_wrap_dim(dimension, self.dim());
  TORCH_CHECK_INDEX(indices.dim() <= 1, "index_select(): Index is supposed to be a vector");
  at::DimVector shape(self.sizes());
  if (self.dim() > 0) shape[static_cast<size_t>(at)] = indices.numel();
  at::native::resize_output(out, shape);
  if (out.numel() == 0) return out;
  const Tensor table = leading(self, at);
  const Tensor rows = at::empty({indices.numel(), table.size(1)}, self.options());
  gather_rows(table, indices.reshape(-1), rows);
  at::DimVector moved{indices.numel()};
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != at) moved.push_back(self.size(i));
  }
  out.copy_(self.dim() == 0 ? rows.view({}) : rows.view(moved).movedim(0, at));
  return out;
}

Tensor index_select(const Tensor& self, int64_t dimension, const Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  Tensor out = at::empty({0}, self.options());
  return index_select_out(self, dimension, indices, out);
}

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
  if (out.numel() == 0) return out;
  const Tensor dense = (self.dim() == 0 ? self.view(1) : self).contiguous();
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  const Tensor place = places(dense, at::maybe_wrap_dim(dimension, dense.dim()), named);
  const Tensor result = at::empty({out.numel(), 1}, out.options());
  gather_rows(elements(dense), place.reshape(-1), result);
  return out.copy_(result.view(out.sizes()));
}

/// out = self with source at (or added to) the places that indices name along the dimension.
Tensor& scatter_into(const Tensor& self, int64_t dimension, const Tensor& indices,
                     const Tensor& source, bool add, Tensor& out) {
  check_movable(self);
  check_indices(indices);
  if (self.scalar_type() == at::kInt && add) throw Refusal{"DMA adds integers in fp32"};
  const bool wide = add && self.scalar_type() != at::kFloat;
  Tensor dense = (self.dim() == 0 ? self.view(1) : self).clone(at::MemoryFormat::Contiguous);
  if (wide) dense = dense.to(at::kFloat);
  const Tensor named = indices.dim() == 0 ? indices.view(1) : indices;
  Tensor values = source.dim() == 0 ? source.view(1) : source;
  for (int64_t i = 0; i < named.dim(); ++i) values = values.narrow(i, 0, named.size(i));
  if (named.numel() > 0) {
    const Tensor place = places(dense, at::maybe_wrap_dim(dimension, dense.dim()), named);
    scatter_rows(elements(dense), place.reshape(-1),
                 values.to(dense.scalar_type()).reshape({-1, 1}), add);
  }
  return out.copy_(dense.view(out.sizes()));
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

/// Indexed dimensions first, the others behind; and one row number per element of the indices.
struct IndexedTensor {
  Tensor table;  ///< [rows, width]
  Tensor rows;   ///< flattened indices
  at::DimVector index_shape, rest_shape;
  bool in_place;  ///< the result keeps the place of the indexed dimensions
  int64_t first;  ///< of the indexed dimensions
  std::vector<int64_t> order;
};

IndexedTensor indexed(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  std::vector<Tensor> indices;
  std::vector<int64_t> at, rest;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const std::optional<Tensor> index =
        static_cast<size_t>(i) < list.size() ? list.get(static_cast<size_t>(i)) : std::nullopt;
    if (!index || !index->defined()) {
      rest.push_back(i);
      continue;
    }
    if (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte) {
      throw Refusal{"a mask's number of elements is known to the host only"};
    }
    indices.push_back(index->to(self.device()).to(at::kLong));
    at.push_back(i);
  }
  if (indices.empty()) throw Refusal{"there are no indices"};
  indices = at::expand_outplace(indices);
  IndexedTensor result;
  Tensor rows;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t size = self.size(at[i]);
    const Tensor index = wrapped(indices[i], size);
    rows = rows.defined() ? rows * size + index : index;
  }
  result.index_shape = at::DimVector(rows.sizes());
  result.rows = rows.reshape(-1);
  result.order = at;
  result.order.insert(result.order.end(), rest.begin(), rest.end());
  int64_t count = 1;
  for (const int64_t dimension : at) count *= self.size(dimension);
  for (const int64_t dimension : rest) result.rest_shape.push_back(self.size(dimension));
  result.table = self.permute(result.order).reshape({count, -1});
  result.first = at.front();
  result.in_place = at.back() - at.front() + 1 == static_cast<int64_t>(at.size());
  return result;
}

/// [indices..., rest...] with the indices' dimensions where torch puts them.
Tensor placed(const IndexedTensor& index, const Tensor& rows) {
  at::DimVector shape = index.index_shape;
  shape.append(index.rest_shape.begin(), index.rest_shape.end());
  const Tensor result = rows.view(shape);
  if (!index.in_place || index.first == 0) return result;
  const int64_t count = static_cast<int64_t>(index.index_shape.size());
  std::vector<int64_t> order;
  for (int64_t i = 0; i < index.first; ++i) order.push_back(count + i);
  for (int64_t i = 0; i < count; ++i) order.push_back(i);
  for (int64_t i = count + index.first; i < result.dim(); ++i) order.push_back(i);
  return result.permute(order);
}

Tensor index_tensor(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  check_movable(self);
  const c10::DeviceGuard guard(self.device());
  const IndexedTensor index = indexed(self, indices);
  const Tensor rows = at::empty({index.rows.numel(), index.table.size(1)}, self.options());
  gather_rows(index.table, index.rows, rows);
  return placed(index, rows).contiguous();
}

Tensor& index_tensor_out(const Tensor& self, const c10::List<std::optional<Tensor>>& indices,
                         Tensor& out) {
  const Tensor result = index_tensor(self, indices);
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

Tensor& index_put(Tensor& self, const c10::List<std::optional<Tensor>>& indices,
                  const Tensor& values, bool accumulate, bool /*unsafe*/) {
  check_movable(self);
  if (self.scalar_type() == at::kInt && accumulate) throw Refusal{"DMA adds integers in fp32"};
  const c10::DeviceGuard guard(self.device());
  const IndexedTensor index = indexed(self, indices);
  const int64_t width = index.table.size(1);
  const Tensor like = placed(index, at::empty({index.rows.numel(), width}, self.options()));
  Tensor spread = values.to(self.device()).expand(like.sizes());
  if (index.in_place && index.first > 0) {  // back to [indices..., rest...]
    const int64_t count = static_cast<int64_t>(index.index_shape.size());
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) order.push_back(index.first + i);
    for (int64_t i = 0; i < spread.dim(); ++i) {
      if (i < index.first || i >= index.first + count) order.push_back(i);
    }
    spread = spread.permute(order);
  }
  const at::ScalarType type = accumulate ? at::kFloat : self.scalar_type();
  const Tensor table = index.table.to(type).clone(at::MemoryFormat::Contiguous);
  scatter_rows(table, index.rows, spread.reshape({-1, width}).to(type), accumulate);
  at::DimVector shape;
  for (const int64_t dimension : index.order) shape.push_back(self.size(dimension));
  self.permute(index.order).copy_(table.view(shape));
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("cat.out", device_operator<cat_out>());
  m.impl("embedding", device_operator<embedding>());
  m.impl("embedding_dense_backward", device_operator<embedding_dense_backward>());
  m.impl("index_select", device_operator<index_select>());
  m.impl("index_select.out", device_operator<index_select_out>());
  m.impl("gather.out", device_operator<gather_out>());
  m.impl("scatter.src_out", device_operator<scatter_src_out>());
  m.impl("scatter.value_out", device_operator<scatter_value_out>());
  m.impl("scatter_add.out", device_operator<scatter_add_out>());
  m.impl("index.Tensor", device_operator<index_tensor>());
  m.impl("index.Tensor_out", device_operator<index_tensor_out>());
  m.impl("_index_put_impl_", device_operator<index_put>());
}

}  // namespace neuron_sim
