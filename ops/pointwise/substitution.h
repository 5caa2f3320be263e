#pragma once
// An expression as a part of another one.

#include <vector>

#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Appends a step whose operands are `values` at their indices; an input stays that input.
ElementValue repeated(Expression& target, const ExpressionStep& step,
                      const std::vector<ElementValue>& values);
/// An equal expression for an input 0 that is sums in PSUM: an instruction reads at most one
/// operand there, so the sums are copied first if one would combine them with themselves.
Expression reading_sums_once(const Expression& expression);

}  // namespace neuron_sim
