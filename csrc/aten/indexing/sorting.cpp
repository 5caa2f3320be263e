// sort, topk, kthvalue, median and mode along a dimension.

#include "csrc/aten/indexing/sorting.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/integers.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/aten/shared/running_values.h"
#include "csrc/launch/kernel_call.h"
#include "ops/rows/largest_of_rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr int64_t kShortestSelected = 2048;  // shorter rows are sorted in less time

void check_rows(const Tensor& rows) {
  check_computable(rows.scalar_type());
  if (rows.size(1) > kLongestSorted) {
    throw Refusal{c10::str("rows of more than ", kLongestSorted, " elements are not sorted here")};
  }
}

void launch_sort(const Tensor& rows, bool descending, const Sorted& sorted) {
  const int64_t k = sorted.values.size(1);
  const bool selects = k <= kMostLargest && rows.size(1) >= kShortestSelected;
  const auto& kernel = selects ? kLargestOfRows : kSortedRows;
  KernelCall call(kernel.name, rows.device());
  call.operand(rows).result(sorted.values);
  call.words(sorted.places, at::kInt, {rows.size(0), 2 * k}, {2 * k, 1}, true);
  call.launch(kernel, {descending});
}

/// The engines compare in fp32: first by the low halves, then, stably, by the high ones.
Sorted sort_whole_rows(const Tensor& rows, int64_t k, bool descending) {
  const OrderedHalves halves = ordered_halves(rows);
  const Tensor by_low = sort_rows(halves.low, rows.size(1), descending).places;
  const Tensor by_high = sort_rows(halves.high.gather(1, by_low), k, descending).places;
  const Tensor places = by_low.gather(1, by_high);
  return {rows.gather(1, places), places};
}

void give(const Tensor& result, const Tensor& like, Tensor& out) {
  give_result(like.dim() == 0 ? result.reshape({}) : result, out);
}

/// Gives the first k elements of the sorted rows of `self`, without copies where the outputs are as
/// the kernel writes them.
std::tuple<Tensor&, Tensor&> give_sorted(const Tensor& self, const Rows& rows, int64_t k,
                                         bool descending, Tensor& values, Tensor& indices) {
  const Tensor matrix = rows.matrix();
  at::DimVector shape(self.sizes());
  if (self.dim() > 0) shape.back() = k;
  const auto takes = [&](const Tensor& out, at::ScalarType type) {
    const bool fits = out.sizes() == shape && out.is_contiguous();
    return out.scalar_type() == type && (fits || out.numel() == 0) && !out.is_alias_of(self);
  };
  const bool direct = k > 0 && rows.dimension + 1 == self.dim() && self.scalar_type() != at::kInt &&
                      takes(values, self.scalar_type()) && takes(indices, at::kLong);
  if (!direct) {
    const Sorted sorted = sort_rows(matrix, k, descending);
    give(rows.restored(sorted.values), self, values);
    give(rows.restored(sorted.places), self, indices);
    return std::tie(values, indices);
  }
  check_rows(matrix);
  at::native::resize_output(values, shape);
  at::native::resize_output(indices, shape);
  const int64_t count = matrix.size(0);
  launch_sort(matrix, descending, {values.view({count, k}), indices.view({count, k})});
  return std::tie(values, indices);
}

std::tuple<Tensor&, Tensor&> sort_out(const Tensor& self, std::optional<bool> /*stable*/,
                                      int64_t dimension, bool descending, Tensor& values,
                                      Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  return give_sorted(self, rows, rows.moved.size(-1), descending, values, indices);
}

std::tuple<Tensor&, Tensor&> topk_out(const Tensor& self, c10::SymInt count, int64_t dimension,
                                      bool largest, bool /*sorted*/, Tensor& values,
                                      Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const int64_t k = count.expect_int();
  TORCH_CHECK(k >= 0 && k <= rows.moved.size(-1), "selected index k out of range");
  return give_sorted(self, rows, k, largest, values, indices);
}

/// Gives one column [R, 1].
std::tuple<Tensor&, Tensor&> give_chosen(const Rows& rows, const Sorted& chosen, bool keeps,
                                         Tensor& values, Tensor& indices) {
  const auto one = [&](const Tensor& column) {
    const Tensor restored = rows.restored(column);
    return keeps ? restored : restored.squeeze(rows.dimension);
  };
  give_result(one(chosen.values), values);
  give_result(one(chosen.places), indices);
  return std::tie(values, indices);
}

/// The same column of all rows.
Sorted column_of(const Sorted& sorted, int64_t column) {
  return {sorted.values.narrow(1, column, 1), sorted.places.narrow(1, column, 1)};
}

std::tuple<Tensor&, Tensor&> kthvalue_out(const Tensor& self, c10::SymInt number, int64_t dimension,
                                          bool keeps, Tensor& values, Tensor& indices) {
  if (self.dim() == 0 || self.numel() == 0) throw Refusal{"there are no rows"};
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBool,
                              "\"kthvalue\" not implemented for 'Bool'");
  at::assert_no_overlap(self, values);
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const int64_t k = number.expect_int();
  TORCH_CHECK(k > 0 && k <= rows.moved.size(-1),
              "kthvalue(): selected number k out of range for dimension ", rows.dimension);
  const Sorted sorted = sort_rows(rows.matrix(), k, false);
  return give_chosen(rows, column_of(sorted, k - 1), keeps, values, indices);
}

/// The lower median of each row, its first NaN if it has one.
std::tuple<Tensor&, Tensor&> median_out(const Tensor& self, int64_t dimension, bool keeps,
                                        Tensor& values, Tensor& indices) {
  if (self.dim() == 0 || self.numel() == 0) throw Refusal{"there are no rows"};
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const Tensor matrix = rows.matrix();
  const int64_t length = matrix.size(1), middle = (length - 1) / 2;
  const Sorted sorted = sort_rows(matrix, length, false);
  if (!self.is_floating_point()) {
    return give_chosen(rows, column_of(sorted, middle), keeps, values, indices);
  }
  // The elements that are numbers are counted; the first NaN follows them.
  const Expression number =
      make_expression([](Expression& e) { return compare(AluOp::kEqual, e.input(0), e.input(0)); });
  const Expression chosen = make_expression([&](Expression& e) {
    const ElementValue numbers = e.input(1);
    return select(compare(AluOp::kEqual, numbers, static_cast<double>(length)),
                  e.constant(static_cast<double>(middle)), numbers);
  });
  const Tensor place = at::empty({matrix.size(0), 1}, matrix.options().dtype(at::kInt));
  run_rows(RowProgram{{{.op = AluOp::kAdd, .value = number}}, {chosen}, {false, true}}, {matrix},
           {place});
  return give_column(rows, sorted, place.to(at::kLong), keeps, values, indices);
}

Tensor median(const Tensor& self) {
  Tensor value = at::empty({0}, self.options()),
         place = at::empty({0}, self.options().dtype(at::kLong));
  return std::get<0>(median_out(self.reshape(-1), 0, false, value, place));
}

/// The smallest of the most frequent elements of each row: the first place in the sorted row that
/// is furthest from where the run of its equals begins.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dimension, bool keeps) {
  if (self.dim() == 0 || self.numel() == 0) throw Refusal{"there are no rows"};
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const int64_t length = rows.moved.size(-1);
  const Sorted sorted = sort_rows(rows.matrix(), length, false);
  const Tensor places = places_along(sorted.values, 1);
  Tensor begins = at::zeros(sorted.values.sizes(), places.options());
  begins.narrow(1, 1, length - 1)
      .copy_(changes_in(sorted.values).to(at::kFloat) * places.narrow(1, 1, length - 1));
  const Tensor run = places - running_extremum(AluOp::kMaximum, begins, 1);
  Tensor values = at::empty({0}, self.options());
  Tensor indices = at::empty({0}, self.options().dtype(at::kLong));
  give_column(rows, sorted, run.argmax(1, true), keeps, values, indices);
  return {values, indices};
}

}  // namespace

Rows::Rows(const Tensor& self, int64_t along)
    : moved(self.dim() == 0 ? self.view(1) : self),
      dimension(at::maybe_wrap_dim(along, self.dim())) {
  moved = moved.movedim(dimension, -1);
}

Tensor Rows::matrix() const {
  const int64_t length = moved.size(-1);
  return moved.reshape({moved.numel() / std::max<int64_t>(length, 1), length});
}

Tensor Rows::restored(const Tensor& matrix) const {
  at::DimVector shape(moved.sizes());
  shape.back() = matrix.size(1);
  if (matrix.numel() == 0) return matrix.new_empty(shape).movedim(-1, dimension);
  return matrix.reshape(shape).movedim(-1, dimension);
}

Sorted sort_rows(const Tensor& rows, int64_t k, bool descending) {
  check_rows(rows);
  if (rows.scalar_type() == at::kInt) return sort_whole_rows(rows, k, descending);
  Sorted sorted{at::empty({rows.size(0), k}, rows.options()),
                at::empty({rows.size(0), k}, rows.options().dtype(at::kLong))};
  launch_sort(rows, descending, sorted);
  return sorted;
}

Tensor changes_in(const Tensor& sorted) {
  const int64_t last = sorted.dim() - 1, length = sorted.size(last);
  return sorted.narrow(last, 1, length - 1).ne(sorted.narrow(last, 0, length - 1));
}

std::tuple<Tensor&, Tensor&> give_column(const Rows& rows, const Sorted& sorted,
                                         const Tensor& places, bool keeps, Tensor& values,
                                         Tensor& indices) {
  const Sorted chosen{sorted.values.gather(1, places), sorted.places.gather(1, places)};
  return give_chosen(rows, chosen, keeps, values, indices);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sort.values_stable", device_operator<sort_out>());
  m.impl("topk.values", device_operator<topk_out>());
  m.impl("kthvalue.values", device_operator<kthvalue_out>());
  m.impl("median.dim_values", device_operator<median_out>());
  m.impl("median", device_operator<median>());
  m.impl("mode", device_operator<mode>());
}

}  // namespace neuron_sim
