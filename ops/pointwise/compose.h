#pragma once
// Expressions that continue with the results of others.

#include <functional>
#include <vector>

#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Appends the steps of `source` to `target`, of the same domain, with `inputs[i]` in the place of
/// its input i; returns the values of its results.
std::vector<ElementValue> append_steps(Expression& target, const Expression& source,
                                       const std::vector<ElementValue>& inputs);

/// The inputs 0 to `count` - 1 of `target`.
std::vector<ElementValue> first_inputs(Expression& target, size_t count);

/// `source` with input_of(target, i) in the place of each input i that it uses.
Expression with_inputs(
    const Expression& source,
    const std::function<ElementValue(Expression& target, size_t input)>& input_of);

/// One expression with the first results of several, which have `inputs` inputs.
Expression together(const std::vector<const Expression*>& expressions, size_t inputs);

/// `expression` with result `index` alone.
Expression single_result(const Expression& expression, size_t index);

}  // namespace neuron_sim
