// sort and topk. Algorithm: the rank of an element is the number of its row's elements before it,
// counted for all pairs at once (a reduction over [row, element, other]); elements are then
// scattered to their ranks. Stable; n^2 comparisons per row of n.

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/device_copies.h"
#include "csrc/aten/shared/reductions.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::Tensor;

constexpr int64_t kLongest = 16384;  // of a row: 2^28 comparisons

/// 1 where `other` comes before `x` in its row; NaN is the largest number.
ElementValue comes_before(Expression& e, bool descending) {
  const ElementValue x = e.input(0), other = e.input(1);
  const ElementValue place = e.input(2), other_place = e.input(3);
  const auto is_nan = [](ElementValue v) { return compare(AluOp::kNotEqual, v, v); };
  const auto both = [&](ElementValue a, ElementValue b) { return a * b; };
  const auto either = [&](ElementValue a, ElementValue b) { return maximum(a, b); };
  const ElementValue big = descending ? other : x, small = descending ? x : other;
  const ElementValue less =
      either(compare(AluOp::kLess, small, big), both(is_nan(big), 1.0 - is_nan(small)));
  const ElementValue equal =
      either(compare(AluOp::kEqual, x, other), both(is_nan(x), is_nan(other)));
  return either(less, both(equal, compare(AluOp::kLess, other_place, place)));
}

/// Sorted rows [R, n] and int32 original places of their elements.
struct Sorted {
  Tensor values, places;
};

Sorted sort_rows(const Tensor& rows, bool descending) {
  check_extremum(rows);
  const int64_t count = rows.size(0), length = rows.size(1);
  if (length > kLongest) throw Refusal{"rows of more than 16384 elements are not sorted here"};
  const auto whole = rows.options().dtype(at::kInt);
  const Tensor places = at::arange(length, at::TensorOptions().dtype(at::kInt)).to(rows.device());
  Sorted sorted{at::empty_like(rows, at::MemoryFormat::Contiguous),
                at::empty({count, length}, whole)};
  if (rows.numel() == 0) return sorted;
  const std::vector<int64_t> shape{count, length, length};
  Tensor rank = at::empty({count, length, 1}, whole);
  const Expression before =
      make_expression([&](Expression& e) { return comes_before(e, descending); });
  reduce_into(rank,
              {rows.unsqueeze(2).expand(shape), rows.unsqueeze(1).expand(shape),
               places.view({1, length, 1}).expand(shape),
               places.view({1, 1, length}).expand(shape)},
              {.op = AluOp::kAdd, .prologue = before, .reduced = {false, false, true}});
  const Tensor first = at::arange(count, at::TensorOptions().dtype(at::kInt)).to(rows.device());
  const Tensor target = (rank.view({count, length}) + first.view({count, 1}) * length).view(-1);
  scatter_rows(sorted.values.view({-1, 1}), target, rows.reshape({-1, 1}), false);
  scatter_rows(sorted.places.view({-1, 1}), target, places.expand({count, length}).reshape({-1, 1}),
               false);
  return sorted;
}

/// The dimension last, all others as rows.
struct Rows {
  Tensor moved;
  int64_t dimension;
  explicit Rows(const Tensor& self, int64_t along)
      : moved(self.dim() == 0 ? self.view(1) : self),
        dimension(at::maybe_wrap_dim(along, self.dim())) {
    moved = moved.movedim(dimension, -1);
  }
  Tensor matrix() const {
    const int64_t length = moved.size(-1);
    return moved.reshape({moved.numel() / std::max<int64_t>(length, 1), length});
  }
  /// [R, m] back to where the dimension was.
  Tensor restored(const Tensor& matrix) const {
    at::DimVector shape(moved.sizes());
    shape.back() = matrix.size(1);
    if (matrix.numel() == 0) return matrix.new_empty(shape).movedim(-1, dimension);
    return matrix.reshape(shape).movedim(-1, dimension);
  }
};

void give(const Tensor& result, const Tensor& like, Tensor& out) {
  give_result(like.dim() == 0 ? result.reshape({}) : result, out);
}

std::tuple<Tensor&, Tensor&> sort_out(const Tensor& self, std::optional<bool> /*stable*/,
                                      int64_t dimension, bool descending, Tensor& values,
                                      Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const Sorted sorted = sort_rows(rows.matrix(), descending);
  give(rows.restored(sorted.values), self, values);
  give(rows.restored(sorted.places), self, indices);
  return std::tie(values, indices);
}

std::tuple<Tensor&, Tensor&> topk_out(const Tensor& self, c10::SymInt count, int64_t dimension,
                                      bool largest, bool /*sorted*/, Tensor& values,
                                      Tensor& indices) {
  const c10::DeviceGuard guard(self.device());
  const Rows rows(self, dimension);
  const int64_t k = count.expect_int();
  TORCH_CHECK(k >= 0 && k <= rows.moved.size(-1), "selected index k out of range");
  const Sorted sorted = sort_rows(rows.matrix(), largest);
  give(rows.restored(sorted.values.narrow(1, 0, k)), self, values);
  give(rows.restored(sorted.places.narrow(1, 0, k)), self, indices);
  return std::tie(values, indices);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("sort.values_stable", device_operator<sort_out>());
  m.impl("topk.values", device_operator<topk_out>());
}

}  // namespace neuron_sim
