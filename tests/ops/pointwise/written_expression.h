#pragma once
// Expressions that tests write in place, and kernels of them.

#include "ops/pointwise/pointwise.h"
#include "tests/ops/run_kernel.h"

namespace neuron_sim {

using WriteExpression = std::function<ElementValue(Expression&)>;

/// The expression with the one result that `write` returns.
inline Expression written(const WriteExpression& write, Domain domain = Domain::kFloat) {
  Expression expression(domain);
  expression.add_result(write(expression));
  return expression;
}

/// The pointwise kernel of the expression.
inline EmitKernel pointwise_kernel(const Expression& expression) {
  return with_options(emit_pointwise, expression);
}

}  // namespace neuron_sim
