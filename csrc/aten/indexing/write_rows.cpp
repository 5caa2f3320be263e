#include "csrc/aten/indexing/write_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "csrc/aten/indexing/operands.h"
#include "csrc/aten/shared/device_copies.h"
#include "ops/copies/copy.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// Elements that lie apart take a DMA descriptor each, of 9 ns. A copy of the whole tensor, out and
/// back, transposes on chip instead: about 128 times as many in that time (trn2, 4096 x 512 and
/// 2048 x 2048 of fp32, measured with these kernels).
constexpr int64_t kTransposedInOneTime = 128;

/// Rows whose elements lie apart, made contiguous.
Tensor side_by_side(const Tensor& rows) {
  const bool apart = rows.size(1) > 1 && rows.stride(1) != 1;
  return apart && rows.numel() >= kTransposedElements ? rows.contiguous() : rows;
}

/// The dimensions of a tensor without indices, in order: those whose places are part of a row's
/// number, then those that form one contiguous row.
struct Rest {
  at::DimVector outer;
  int64_t width = 1, stride = 1;  ///< of a row

  Rest(const Tensor& self, const std::vector<NamedDimension>& named) {
    for (int64_t i = 0; i < self.dim(); ++i) {
      bool is_named = false;
      for (const NamedDimension& each : named) is_named = is_named || each.dimension == i;
      if (!is_named) outer.push_back(i);
    }
    while (!outer.empty()) {
      const int64_t size = self.size(outer.back()), step = self.stride(outer.back());
      if (size != 1) {
        if (width == 1) stride = step;
        if (step != stride * width || (step == 0 && width == 1)) break;
        width *= size;
      }
      outer.pop_back();
    }
  }
};

/// Rows of `width` at multiples of a step, which may overlap: a view of the memory of `self` from
/// its first element to its last.
struct RowTable {
  Tensor table;
  int64_t step = 0;  ///< elements from row to row

  RowTable(const Tensor& self, const at::DimVector& dimensions, int64_t width, int64_t stride) {
    int64_t last = 0;
    for (const int64_t i : dimensions) {
      if (self.size(i) <= 1) continue;
      step = std::gcd(step, self.stride(i));
      last += (self.size(i) - 1) * self.stride(i);
    }
    if (step == 0) step = 1;
    table = self.as_strided({last / step + 1, width}, {step, stride});
  }
};

/// table[rows] = values, or += in `type`, touching no other row.
void write_table(const Tensor& table, const Tensor& rows, const Tensor& values, bool add,
                 at::ScalarType type) {
  if (!add || table.scalar_type() == type) {
    return scatter_rows(table, rows, side_by_side(values), add);
  }
  const Tensor found = at::empty({rows.numel(), table.size(1)}, table.options());
  gather_rows(table, rows, found);
  const Tensor sums = found.to(type);
  // The last one of equal rows, which is written last, has the sum.
  scatter_rows(sums, last_of_equal(rows), values.to(type), true);
  scatter_rows(table, rows, sums_as(sums, table.scalar_type()), false);
}

/// Through a dense copy of the whole tensor.
void write_copy(const Tensor& self, const at::DimVector& order, const Tensor& rows,
                const Tensor& values, bool add, at::ScalarType type) {
  const Tensor copy = self.permute(order).to(type).clone(at::MemoryFormat::Contiguous);
  const int64_t width = values.size(1);
  scatter_rows(copy.view({copy.numel() / width, width}), rows, side_by_side(values).to(type), add);
  self.permute(order).copy_(sums_as(copy, self.scalar_type()));
}

/// Steps of a dense tensor of these sizes.
at::DimVector dense_steps(IntArrayRef sizes) {
  at::DimVector steps(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) steps[i - 1] = steps[i] * sizes[i];
  return steps;
}

void write_named_in_copy(const Tensor& self, const std::vector<NamedDimension>& named,
                         const Tensor& values, bool add, at::ScalarType type) {
  at::DimVector order, sizes;
  for (const NamedDimension& each : named) {
    order.push_back(each.dimension);
    sizes.push_back(self.size(each.dimension));
  }
  const at::DimVector steps = dense_steps(sizes);
  std::vector<IndexedDimension> indexed;
  for (size_t i = 0; i < named.size(); ++i) {
    indexed.push_back({named[i].indices, named[i].bounds, steps[i]});
  }
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  }
  const Tensor& first = named.front().indices;
  const Tensor rows = row_numbers(indexed, at::DimVector(first.dim(), 0)).reshape(-1);
  const int64_t count = first.numel();
  write_copy(self, order, rows, values.reshape({count, values.numel() / count}), add, type);
}

}  // namespace

void write_named(const Tensor& self, const std::vector<NamedDimension>& named, const Tensor& values,
                 bool add) {
  if (values.numel() == 0) return;
  for (const NamedDimension& each : named) {  // any index is out of bounds, and there is no table
    if (each.bounds.size == 0) check_bounds(each.indices, each.bounds);
  }
  const Tensor& first = named.front().indices;
  const at::ScalarType dtype = self.scalar_type();
  const at::ScalarType type = add ? addition_dtype(dtype, first.numel()) : dtype;
  const Rest rest(self, named);
  const bool many = type != dtype && values.numel() >= self.numel();
  const bool apart =
      rest.width > 1 && rest.stride != 1 && values.numel() * kTransposedInOneTime > self.numel();
  if (many || apart) return write_named_in_copy(self, named, values, add, type);

  at::DimVector tabled = rest.outer, shape(first.sizes()), steps(first.dim(), 0);
  for (const NamedDimension& each : named) tabled.push_back(each.dimension);
  const RowTable table(self, tabled, rest.width, rest.stride);
  for (const int64_t i : rest.outer) {
    shape.push_back(self.size(i));
    steps.push_back(self.size(i) == 1 ? 0 : self.stride(i) / table.step);
  }
  std::vector<IndexedDimension> indexed;
  for (const NamedDimension& each : named) {
    Tensor indices = each.indices;
    for (size_t i = 0; i < rest.outer.size(); ++i) indices = indices.unsqueeze(-1);
    const int64_t stride = self.size(each.dimension) == 1 ? 0 : self.stride(each.dimension);
    indexed.push_back({indices.expand(shape), each.bounds, stride / table.step});
  }
  const Tensor rows = row_numbers(indexed, steps).reshape(-1);
  write_table(table.table, rows, values.reshape({rows.numel(), rest.width}), add, type);
}

void write_elements(const Tensor& self, const NamedDimension& named, const Tensor& values,
                    bool add) {
  if (values.numel() == 0) return;
  if (named.bounds.size == 0) check_bounds(named.indices, named.bounds);
  const at::ScalarType dtype = self.scalar_type();
  const at::ScalarType type = add ? addition_dtype(dtype, values.numel()) : dtype;
  const bool many = type != dtype && values.numel() >= self.numel();
  at::DimVector dimensions,
      steps = many ? dense_steps(self.sizes()) : at::DimVector(self.strides());
  for (int64_t i = 0; i < self.dim(); ++i) dimensions.push_back(i);
  const RowTable table(self, dimensions, 1, 1);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!many) steps[i] = self.sizes()[i] == 1 ? 0 : steps[i] / table.step;
  }
  const auto at = static_cast<size_t>(named.dimension);
  const IndexedDimension indexed{named.indices, named.bounds, steps[at]};
  steps[at] = 0;
  const Tensor rows = row_numbers({indexed}, steps).reshape(-1);
  const Tensor column = values.reshape({-1, 1});
  if (many) return write_copy(self, dimensions, rows, column, add, type);
  write_table(table.table, rows, column, add, type);
}

}  // namespace neuron_sim
