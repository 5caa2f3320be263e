#pragma once
// Sorted rows, for the operators that are made of them.

#include <ATen/core/Tensor.h>

namespace neuron_sim {

/// A tensor with one dimension last and all others as rows.
struct Rows {
  at::Tensor moved;
  int64_t dimension;
  Rows(const at::Tensor& self, int64_t along);
  at::Tensor matrix() const;
  /// [R, m] back to where the dimension was.
  at::Tensor restored(const at::Tensor& matrix) const;
};

/// The first elements of sorted rows [R, k], and their places in their rows, int64.
struct Sorted {
  at::Tensor values, places;
};

/// Stable; NaN counts as the largest number. Refusal for dtypes that the device does not compare
/// exactly and for rows of more than kLongestSorted elements (ops/rows/sorted_rows.h).
Sorted sort_rows(const at::Tensor& rows, int64_t k, bool descending);

/// Whether an element of a sorted row is unlike the one before, bool [R, n - 1]. NaN are unlike.
at::Tensor changes_in(const at::Tensor& sorted);

/// Gives column places[r] of row r.
std::tuple<at::Tensor&, at::Tensor&> give_column(const Rows& rows, const Sorted& sorted,
                                                 const at::Tensor& places, bool keeps,
                                                 at::Tensor& values, at::Tensor& indices);

}  // namespace neuron_sim
