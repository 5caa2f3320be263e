#pragma once
// What reductions share: the dimensions that a call names, the shape of its result, refused dtypes,
// and expressions of one input.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "ops/pointwise/expression.h"

namespace neuron_sim {

using OptionalDtype = std::optional<at::ScalarType>;

/// An expression of input 0.
template <typename Function>
Expression expression_of(Function function) {
  Expression expression;
  expression.add_result(function(expression.input(0)));
  return expression;
}

/// Input 0 times `factor`.
Expression scaled_by(double factor);

/// A flag per dimension, set where `dimensions` names it; without any, all are set, with an empty
/// list only if `empty_is_all`.
std::vector<bool> reduced_flags(const at::Tensor& self, at::OptionalIntArrayRef dimensions,
                                bool empty_is_all);
/// The number of elements that one element of the result is made of.
int64_t reduced_count(const at::Tensor& self, const std::vector<bool>& reduced);
/// The shape of the result, in which `keep` leaves reduced dimensions with size 1.
at::DimVector reduced_shape(const at::Tensor& self, const std::vector<bool>& reduced, bool keep);
/// Gives an out= tensor the shape of the result.
void shape_result(const at::Tensor& self, const std::vector<bool>& reduced, bool keep,
                  at::Tensor& out);

/// Refusal unless the chip computes with that dtype and it is floating.
void check_reduced_dtype(const at::Tensor& self);
/// The result of a reduction of no elements.
at::Tensor& fill_empty(at::Tensor& out, double value);

}  // namespace neuron_sim
