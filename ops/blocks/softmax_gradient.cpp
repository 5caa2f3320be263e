#include "ops/blocks/softmax_gradient.h"

#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"

namespace neuron_sim {

SoftmaxGradient::SoftmaxGradient(Builder& builder, int64_t columns, int ring)
    : builder_(builder), softmax_(builder), block_sums_(builder, 1, columns) {
  const int64_t partitions = builder.limits().partitions;
  product_ = builder.sbuf("weighted_gradient", {partitions, columns}, Dtype::kFloat32, ring);
  sum_ = builder.sbuf("negated_sum", {partitions, 1}, Dtype::kFloat32, 3);
  offset_ = builder.sbuf("row_offset", {partitions, 1}, Dtype::kFloat32, 3);
}

void SoftmaxGradient::finish(const View& dst, const View& gradient, const View& exponentials,
                             const Affine& turn) {
  const int64_t rows = exponentials.partitions();
  const View product = product_.turn(turn).slice(0, 0, rows).slice(1, 0, exponentials.size(1));
  const View sum = sum_.turn(turn).slice(0, 0, rows), offset = offset_.turn(turn).slice(0, 0, rows);
  const View inverse = softmax_.invert_sum(rows, turn);
  builder_.emit(TensorTensor{
      .dst = product, .data1 = gradient, .data2 = exponentials, .op = AluOp::kMultiply});
  block_sums_.emit({.dst = sum, .data = product, .negate = true}, turn);
  // offset = -sum(g e) / sum(e)^2, so that (g / sum(e) + offset) e is the gradient.
  builder_.emit(TensorScalar{.dst = offset,
                             .data = sum,
                             .operand0 = inverse,
                             .operand1 = inverse,
                             .op0 = AluOp::kMultiply,
                             .op1 = AluOp::kMultiply});
  // On Vector, which would otherwise have to wait for Scalar.
  builder_.emit(TensorScalar{.dst = product,
                             .data = gradient,
                             .operand0 = inverse,
                             .operand1 = offset,
                             .op0 = AluOp::kMultiply,
                             .op1 = AluOp::kAdd});
  builder_.emit(
      TensorTensor{.dst = dst, .data1 = product, .data2 = exponentials, .op = AluOp::kMultiply});
}

}  // namespace neuron_sim
