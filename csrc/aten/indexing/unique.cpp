// The different elements of a tensor, with where they are and how often.
// Algorithm: sorting, comparison of neighbours, a prefix sum of where they differ. Places are int64
// index arithmetic.

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/DeviceGuard.h>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/indexing/sorting.h"

namespace neuron_sim {
namespace {

using at::Tensor;
using Unique = std::tuple<Tensor, Tensor, Tensor>;

/// The element or row that begins each run of equal ones, the run of each, and the lengths of runs.
/// `differs`: whether a row is unlike the one before, bool [n - 1].
Unique runs_of(const Tensor& rows, const Tensor& differs, bool with_runs, bool with_counts) {
  const auto longs = rows.options().dtype(at::kLong);
  const Tensor begins = at::cat({at::ones({1}, differs.options()), differs});
  const Tensor places = begins.nonzero().reshape(-1);
  Tensor run = at::empty({0}, longs), counts = at::empty({0}, longs);
  if (with_runs) run = begins.cumsum(0) - 1;
  if (with_counts) counts = at::cat({places, at::full({1}, rows.size(0), longs)}).diff();
  return {rows.index_select(0, places), run, counts};
}

void check_elements(const Tensor& self) {
  check_computable(self.scalar_type());
  if (self.numel() == 0) throw Refusal{"there are no elements"};
}

/// The run of each element, in the order before sorting.
Tensor unsorted(const Tensor& run, const Tensor& order) {
  return at::empty_like(run).scatter_(0, order, run);
}

Unique unique(const Tensor& self, bool /*sorted*/, bool with_inverse, bool with_counts) {
  check_elements(self);
  const c10::DeviceGuard guard(self.device());
  const auto [values, order] = sort_rows(self.reshape({1, -1}), self.numel(), false);
  const Tensor sorted = values.view(-1);
  auto [result, run, counts] = runs_of(sorted, changes_in(sorted), with_inverse, with_counts);
  if (with_inverse) run = unsorted(run, order.view(-1)).view(self.sizes());
  return {result, run, counts};
}

/// [n, elements of each] from a dimension.
Tensor rows_along(const Tensor& self, int64_t dimension) {
  const Tensor moved = self.movedim(dimension, 0);
  return moved.reshape({moved.size(0), -1});
}

Tensor differing_rows(const Tensor& rows) {
  const int64_t count = rows.size(0);
  const Tensor differ = rows.narrow(0, 1, count - 1).ne(rows.narrow(0, 0, count - 1));
  return rows.size(1) == 1 ? differ.select(1, 0) : differ.any(1);
}

Tensor restored(const Tensor& rows, const Tensor& self, int64_t dimension) {
  at::DimVector shape(self.movedim(dimension, 0).sizes());
  shape[0] = rows.size(0);
  return rows.reshape(shape).movedim(0, dimension);
}

Unique unique_neighbours(const Tensor& self, int64_t dimension, bool with_inverse,
                         bool with_counts) {
  check_elements(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor rows = rows_along(self, dimension);
  auto [result, run, counts] = runs_of(rows, differing_rows(rows), with_inverse, with_counts);
  return {restored(result, self, dimension), run, counts};
}

Unique unique_consecutive(const Tensor& self, bool with_inverse, bool with_counts,
                          std::optional<int64_t> dimension) {
  if (dimension) return unique_neighbours(self, *dimension, with_inverse, with_counts);
  auto [result, run, counts] = unique_neighbours(self.reshape(-1), 0, with_inverse, with_counts);
  return {result, with_inverse ? run.view(self.sizes()) : run, counts};
}

/// Rows in lexicographic order: sorted, stably, by each element from the last to the first.
Unique unique_rows(const Tensor& self, int64_t dimension, bool /*sorted*/, bool with_inverse,
                   bool with_counts) {
  check_elements(self);
  const c10::DeviceGuard guard(self.device());
  const Tensor rows = rows_along(self, dimension);
  const int64_t count = rows.size(0);
  Tensor order = at::arange(count, rows.options().dtype(at::kLong));
  for (int64_t column = rows.size(1); column-- > 0;) {
    const Tensor keys = rows.select(1, column).index_select(0, order).view({1, count});
    order = order.index_select(0, sort_rows(keys, count, false).places.view(-1));
  }
  const Tensor sorted = rows.index_select(0, order);
  auto [result, run, counts] = runs_of(sorted, differing_rows(sorted), with_inverse, with_counts);
  return {restored(result, self, dimension), with_inverse ? unsorted(run, order) : run, counts};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_unique2", device_operator<unique>());
  m.impl("unique_dim", device_operator<unique_rows>());
  m.impl("unique_consecutive", device_operator<unique_consecutive>());
  m.impl("unique_dim_consecutive", device_operator<unique_neighbours>());
}

}  // namespace neuron_sim
