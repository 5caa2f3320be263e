// x[i, j, ...] with tensors as indices, and assignment to it.

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <sstream>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/indexing/write_rows.h"
#include "csrc/aten/shared/device_copies.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// The part of a tensor that indices name.
struct IndexedTensor {
  std::vector<NamedDimension> named;
  std::vector<int64_t> rest;  ///< dimensions without an index
  at::DimVector index_shape, rest_shape;
  bool in_place = false;  ///< the result keeps the place of the indexed dimensions
  bool empty = false;     ///< it has no elements, and torch checks no index

  int64_t first() const { return named.front().dimension; }
  int64_t width() const { return c10::multiply_integers(rest_shape); }
};

/// One index per dimension; a mask becomes the places where it is true, in each of its dimensions.
std::vector<Tensor> indices_of(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  std::vector<Tensor> indices;
  for (const std::optional<Tensor> index : list) {
    if (!index || !index->defined()) {
      indices.emplace_back();
      continue;
    }
    const at::ScalarType type = index->scalar_type();
    const bool mask = type == at::kBool || type == at::kByte;
    TORCH_CHECK_INDEX(mask || type == at::kLong || type == at::kInt,
                      "tensors used as indices must be long, int, byte or bool tensors");
    if (type == at::kByte) {
      TORCH_WARN(
          "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
          "instead.");
    }
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

/// RuntimeError unless all indices are on the CPU or where `self` is; `self` itself may be on the
/// CPU with an index elsewhere.
void check_devices(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  for (const std::optional<Tensor> index : list) {
    if (!index || !index->defined()) continue;
    TORCH_CHECK(index->is_cpu() || index->device() == self.device(),
                "indices should be either on cpu or on the same device as the indexed tensor (",
                self.device(), ")");
  }
}

void check_index_count(const Tensor& self, size_t count) {
  TORCH_CHECK_INDEX(static_cast<int64_t>(count) <= self.dim(),
                    "too many indices for tensor of dimension ", self.dim(), " (got ", count, ")");
}

/// The indices, broadcast together; IndexError if they cannot be.
std::vector<Tensor> broadcast(const std::vector<Tensor>& indices) {
  try {
    return at::expand_outplace(indices);
  } catch (const c10::Error&) {
    std::ostringstream shapes;
    for (const Tensor& index : indices) shapes << (shapes.tellp() > 0 ? ", " : "") << index.sizes();
    TORCH_CHECK_INDEX(false,
                      "shape mismatch: indexing tensors could not be broadcast together with "
                      "shapes ",
                      shapes.str());
  }
}

IndexedTensor indexed(const Tensor& self, const c10::List<std::optional<Tensor>>& list) {
  check_index_count(self, list.size());
  const std::vector<Tensor> given = indices_of(self, list);
  check_index_count(self, given.size());
  IndexedTensor result;
  std::vector<Tensor> indices;
  bool no_elements = false;  // along an indexed dimension
  for (int64_t i = 0; i < self.dim(); ++i) {
    const size_t place = static_cast<size_t>(i);
    if (place >= given.size() || !given[place].defined()) {
      result.rest.push_back(i);
      result.rest_shape.push_back(self.size(i));
      continue;
    }
    const auto ordinal = static_cast<int64_t>(indices.size());
    const IndexBounds bounds{self.size(i), OutOfBounds::kDimension, ordinal, /*from_end=*/true};
    result.named.push_back({i, {}, bounds});
    indices.push_back(given[place]);
    no_elements = no_elements || self.size(i) == 0;
  }
  if (indices.empty()) throw Refusal{"there are no indices"};
  indices = broadcast(indices);
  for (size_t i = 0; i < indices.size(); ++i) result.named[i].indices = indices[i];
  result.index_shape = at::DimVector(indices.front().sizes());
  const bool no_indices = indices.front().numel() == 0;
  TORCH_CHECK_INDEX(!no_elements || no_indices, "index is out of bounds for dimension with size 0");
  result.empty = no_indices || result.width() == 0;
  const int64_t last = result.named.back().dimension;
  result.in_place = last - result.first() + 1 == static_cast<int64_t>(result.named.size());
  return result;
}

/// [indices..., rest...] with the indices' dimensions where torch puts them.
Tensor placed(const IndexedTensor& index, const Tensor& rows) {
  std::vector<int64_t> shape(index.index_shape.begin(), index.index_shape.end());
  shape.insert(shape.end(), index.rest_shape.begin(), index.rest_shape.end());
  const Tensor result = rows.view(shape);
  if (!index.in_place || index.first() == 0) return result;
  const int64_t count = static_cast<int64_t>(index.index_shape.size());
  std::vector<int64_t> order;
  for (int64_t i = 0; i < index.first(); ++i) order.push_back(count + i);
  for (int64_t i = 0; i < count; ++i) order.push_back(i);
  for (int64_t i = count + index.first(); i < result.dim(); ++i) order.push_back(i);
  return result.permute(order);
}

/// Rows of the table that has the indexed dimensions of a tensor first.
Tensor rows_of(const IndexedTensor& index) {
  std::vector<IndexedDimension> dimensions;
  int64_t stride = 1;
  for (auto named = index.named.rbegin(); named != index.named.rend(); ++named) {
    dimensions.push_back({named->indices, named->bounds, stride});
    stride *= named->bounds.size;
  }
  std::reverse(dimensions.begin(), dimensions.end());  // the first index is checked first
  return row_numbers(dimensions, at::DimVector(index.index_shape.size(), 0)).reshape(-1);
}

Tensor index_tensor(const Tensor& self, const c10::List<std::optional<Tensor>>& indices) {
  check_devices(self, indices);
  check_movable(self);
  const c10::DeviceGuard guard(self.device());
  const IndexedTensor index = indexed(self, indices);
  const int64_t count = c10::multiply_integers(index.index_shape), width = index.width();
  const Tensor rows = at::empty({count, width}, self.options());
  if (!index.empty) {
    std::vector<int64_t> order;
    for (const NamedDimension& named : index.named) order.push_back(named.dimension);
    order.insert(order.end(), index.rest.begin(), index.rest.end());
    const Tensor table = self.permute(order).reshape({self.numel() / width, width});
    gather_rows(table, rows_of(index), rows);
  }
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

/// Values broadcast to the indexed elements, as [indices..., rest...].
Tensor spread_values(const IndexedTensor& index, const Tensor& values) {
  const bool moves = index.in_place && index.first() > 0;
  at::DimVector shape(index.index_shape);
  shape.insert(moves ? shape.begin() : shape.end(), index.rest_shape.begin(),
               moves ? index.rest_shape.begin() + index.first() : index.rest_shape.end());
  if (moves)
    shape.insert(shape.end(), index.rest_shape.begin() + index.first(), index.rest_shape.end());
  bool fits = true;
  try {
    fits = at::infer_size_dimvector(values.sizes(), shape) == shape;
  } catch (const c10::Error&) {
    fits = false;
  }
  TORCH_CHECK(fits, "shape mismatch: value tensor of shape ", values.sizes(),
              " cannot be broadcast to indexing result of shape ", IntArrayRef(shape));
  const Tensor spread = values.expand(shape);
  if (!moves) return spread;
  const int64_t count = static_cast<int64_t>(index.index_shape.size());
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i) order.push_back(index.first() + i);
  for (int64_t i = 0; i < spread.dim(); ++i) {
    if (i < index.first() || i >= index.first() + count) order.push_back(i);
  }
  return spread.permute(order);
}

Tensor& index_put(Tensor& self, const c10::List<std::optional<Tensor>>& indices,
                  const Tensor& values, bool accumulate, bool /*unsafe*/) {
  check_devices(self, indices);
  check_movable(self);
  check_index_count(self, indices.size());
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
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before "
        "performing this operation. This also applies to advanced indexing e.g. tensor[indices] = "
        "tensor");
  }
  at::assert_no_overlap(self, values);
  for (const NamedDimension& named : index.named) at::assert_no_overlap(self, named.indices);
  const Tensor spread = spread_values(index, values.to(self.device()));
  if (!index.empty) write_named(self, index.named, spread, accumulate);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("index.Tensor", device_operator<index_tensor>());
  m.impl("index.Tensor_out", device_operator<index_tensor_out>());
  m.impl("_index_put_impl_", device_operator<index_put>());
}

}  // namespace neuron_sim
