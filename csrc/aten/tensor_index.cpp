// x[i, j, ...] with tensors as indices, and assignment to it.

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <sstream>

#include "csrc/aten/device_operator.h"
#include "csrc/aten/indexing.h"
#include "csrc/aten/movement.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Indexed dimensions first, the others behind; and one row number per element of the indices.
struct IndexedTensor {
  Tensor table;  ///< [rows, width]
  Tensor rows;   ///< flattened indices
  at::DimVector index_shape, rest_shape;
  bool in_place;  ///< the result keeps the place of the indexed dimensions
  int64_t first;  ///< of the indexed dimensions
  std::vector<int64_t> order;
};

/// One index per dimension; a mask becomes the places where it is true, in each of its dimensions.
std::vector<Tensor> indices_of(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  std::vector<Tensor> indices;
  for (const std::optional<Tensor> index : list) {
    if (!index || !index->defined()) {
      indices.emplace_back();
      continue;
    }
    TORCH_CHECK_INDEX(c10::isIntegralType(index->scalar_type(), /*includeBool=*/true),
                      "tensors used as indices must be long, int, byte or bool tensors");
    const bool mask = index->scalar_type() == at::kBool || index->scalar_type() == at::kByte;
    if (!mask) {
      indices.push_back(index->to(self.device()).to(at::kLong));
      continue;
    }
    if (index->dim() == 0) throw Refusal{"a mask has no dimensions"};
    for (int64_t i = 0; i < index->dim(); ++i) {
      const int64_t at = static_cast<int64_t>(indices.size()) + i;
      TORCH_CHECK_INDEX(at < self.dim() && index->size(i) == self.size(at),
                        "The shape of the mask ", index->sizes(), " at index ", i,
                        " does not match the shape of the indexed tensor ", self.sizes(),
                        " at index ", at);
    }
    const Tensor places = index->to(self.device()).to(at::kBool).nonzero();
    for (int64_t i = 0; i < index->dim(); ++i) indices.push_back(places.select(1, i));
  }
  return indices;
}

IndexedTensor indexed(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  const std::vector<Tensor> given = indices_of(self, list);
  std::vector<Tensor> indices;
  std::vector<int64_t> at, rest;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const size_t place = static_cast<size_t>(i);
    if (place >= given.size() || !given[place].defined()) {
      rest.push_back(i);
      continue;
    }
    indices.push_back(given[place]);
    at.push_back(i);
  }
  if (indices.empty()) throw Refusal{"there are no indices"};
  try {
    indices = at::expand_outplace(indices);
  } catch (const c10::Error&) {
    std::ostringstream shapes;
    for (const Tensor& index : indices) shapes << (shapes.tellp() > 0 ? ", " : "") << index.sizes();
    TORCH_CHECK_INDEX(false,
                      "shape mismatch: indexing tensors could not be broadcast together with "
                      "shapes ",
                      shapes.str());
  }
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
  std::vector<int64_t> shape(index.index_shape.begin(), index.index_shape.end());
  shape.insert(shape.end(), index.rest_shape.begin(), index.rest_shape.end());
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

/// One bool tensor of the shape of `self`: x[mask] = number.
bool is_whole_mask(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  if (indices.size() != 1 || !indices.get(0).has_value()) return false;
  const Tensor mask = *indices.get(0);
  return mask.scalar_type() == at::kBool && mask.sizes() == self.sizes();
}

Tensor& index_put(Tensor& self, const c10::List<std::optional<Tensor>>& indices,
                  const Tensor& values, bool accumulate, bool /*unsafe*/) {
  check_movable(self);
  const c10::DeviceGuard guard(self.device());
  if (is_whole_mask(self, indices) && values.numel() == 1 && !accumulate) {
    return self.masked_fill_(indices.get(0)->to(self.device()),
                             values.to(self.device()).reshape(at::IntArrayRef{}));
  }
  TORCH_CHECK(self.scalar_type() == values.scalar_type(),
              "Index put requires the source and destination dtypes match, got ",
              self.scalar_type(), " for the destination and ", values.scalar_type(),
              " for the source.");
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
  const at::ScalarType dtype = self.scalar_type();
  const at::ScalarType type = accumulate ? addition_dtype(dtype, index.rows.numel()) : dtype;
  const Tensor table = index.table.to(type).clone(at::MemoryFormat::Contiguous);
  scatter_rows(table, index.rows, spread.reshape({-1, width}).to(type), accumulate);
  at::DimVector shape;
  for (const int64_t dimension : index.order) shape.push_back(self.size(dimension));
  self.permute(index.order).copy_(sums_as(table, dtype).view(shape));
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("index.Tensor", device_operator<index_tensor>());
  m.impl("index.Tensor_out", device_operator<index_tensor_out>());
  m.impl("_index_put_impl_", device_operator<index_put>());
}

}  // namespace neuron_sim
