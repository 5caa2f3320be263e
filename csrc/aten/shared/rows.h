#pragma once
// Row programs on device tensors: the basis of softmax and the norms.

#include <ATen/core/Tensor.h>

#include "ops/rows/row_program.h"

namespace neuron_sim {

/// Runs `program`. Operands are broadcast to the shape of the first one; a result has that shape,
/// or size 1 in the row dimensions. Refusal for dtypes the chip does not compute in.
void run_rows(const RowProgram& program, at::ArrayRef<at::Tensor> operands,
              at::ArrayRef<at::Tensor> results);

/// A row program of static lifetime, whose address stands for it in the keys of kernels: a cached
/// call adds one number instead of a hundred.
struct StaticRowProgram {
  RowProgram program;
  int64_t key() const { return reinterpret_cast<int64_t>(this); }
};
void run_rows(const StaticRowProgram& program, at::ArrayRef<at::Tensor> operands,
              at::ArrayRef<at::Tensor> results);

/// result = expression(operands), element by element; operands are broadcast to the result's shape.
void run_pointwise(const Expression& expression, at::ArrayRef<at::Tensor> operands,
                   at::ArrayRef<at::Tensor> results);
void run_pointwise(const FormedExpression& formed, at::ArrayRef<at::Tensor> operands,
                   at::ArrayRef<at::Tensor> results);

/// The dimensions of a dense tensor for kernels whose tensors are all dense in one order: one, or
/// none, as torch's iterator merges them.
class FlatDimensions {
 public:
  explicit FlatDimensions(const at::Tensor& tensor)
      : rank_(tensor.dim() == 0 ? 0 : 1), size_(tensor.numel()) {}
  at::IntArrayRef sizes() const { return {&size_, rank_}; }
  at::IntArrayRef strides() const { return {&stride_, rank_}; }

 private:
  size_t rank_;
  int64_t size_, stride_ = 1;
};

/// Builds an expression of inputs 0, 1, ...; `function` gets the expression.
template <typename Function>
Expression make_expression(Function function) {
  Expression expression;
  expression.add_result(function(expression));
  return expression;
}

/// The form of an expression that every call of an operator has, which keeps it.
template <typename Function>
FormedExpression make_formed(Function function) {
  return FormedExpression(make_expression(function));
}

}  // namespace neuron_sim
