#pragma once
// Row programs on device tensors: the basis of softmax and the norms.

#include <ATen/core/Tensor.h>

#include <vector>

#include "ops/rows/row_program.h"

namespace neuron_sim {

/// Runs `program`. Operands are broadcast to the shape of the first one; a result has that shape,
/// or size 1 in the row dimensions. Refusal for dtypes the chip does not compute in.
void run_rows(const RowProgram& program, const std::vector<at::Tensor>& operands,
              const std::vector<at::Tensor>& results);

/// result = expression(operands), element by element; operands are broadcast to the result's shape.
void run_pointwise(const Expression& expression, const std::vector<at::Tensor>& operands,
                   const at::Tensor& result);

/// Builds an expression of inputs 0, 1, ...; `function` gets the expression.
template <typename Function>
Expression make_expression(Function function) {
  Expression expression;
  expression.add_result(function(expression));
  return expression;
}

}  // namespace neuron_sim
