#include "ops/softmax_gradient.h"

#include "device/isa/activation.h"
#include "device/isa/tensor_scalar.h"
#include "device/isa/tensor_tensor.h"

namespace neuron_sim {

SoftmaxGradient::SoftmaxGradient(Builder& builder, int64_t columns, int ring)
    : builder_(builder), softmax_(builder) {
  const int64_t partitions = builder.limits().partitions;
  product_ = builder.sbuf("weighted_gradient", {partitions, columns}, Dtype::kFloat32, ring);
  sum_ = builder.sbuf("row_sum_of_gradients", {partitions, 1}, Dtype::kFloat32, 3);
  negated_ = builder.sbuf("negated_sum", {partitions, 1}, Dtype::kFloat32, 3);
}

void SoftmaxGradient::emit(const View& dst, const View& gradient, const View& logits,
                           const Affine& turn) {
  const int64_t rows = logits.partitions();
  const View product = product_.turn(turn).slice(0, 0, rows).slice(1, 0, logits.size(1));
  const View sum = sum_.turn(turn).slice(0, 0, rows);
  const View negated = negated_.turn(turn).slice(0, 0, rows);
  softmax_.apply(logits, logits, turn);
  builder_.emit(
      TensorTensor{.dst = product, .data1 = gradient, .data2 = logits, .op = AluOp::kMultiply});
  builder_.emit(Activate{.dst = product,
                         .data = product,
                         .reduce_res = sum,
                         .reduce_op = AluOp::kAdd,
                         .reduce_command = ReduceCommand::kResetReduce});
  builder_.emit(
      TensorScalar{.dst = negated, .data = sum, .op0 = AluOp::kMultiply, .constant0 = -1});
  builder_.emit(Activate{.dst = product, .data = gradient, .bias_tile = negated});
  builder_.emit(
      TensorTensor{.dst = dst, .data1 = product, .data2 = logits, .op = AluOp::kMultiply});
}

}  // namespace neuron_sim
