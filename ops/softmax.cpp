#include "ops/softmax.h"

#include "device/isa/activation.h"
#include "device/isa/reciprocal.h"
#include "device/isa/tensor_reduce.h"
#include "device/isa/tensor_scalar.h"

namespace neuron_sim {

Softmax::Softmax(Builder& builder, int ring) : builder_(builder) {
  const std::vector<int64_t> shape{builder.limits().partitions, 1};
  maximum_ = builder.sbuf("row_maximum", shape, Dtype::kFloat32, ring);
  sum_ = builder.sbuf("row_sum", shape, Dtype::kFloat32, ring);
  inverse_ = builder.sbuf("row_inverse", shape, Dtype::kFloat32, ring);
}

void Softmax::apply(const View& dst, const View& logits, const Affine& turn) {
  const int64_t rows = logits.partitions();
  const View maximum = maximum_.turn(turn).slice(0, 0, rows);
  const View sum = sum_.turn(turn).slice(0, 0, rows);
  const View inverse = inverse_.turn(turn).slice(0, 0, rows);
  builder_.emit(
      TensorReduce{.dst = maximum, .data = logits, .op = AluOp::kMaximum, .negate = true});
  builder_.emit(Activate{.dst = logits,
                         .data = logits,
                         .op = Activation::kExp,
                         .bias_tile = maximum,
                         .accumulator = builder_.accumulator(rows),
                         .reduce_res = sum,
                         .reduce_op = AluOp::kAdd,
                         .reduce_command = ReduceCommand::kResetReduce});
  builder_.emit(Reciprocal{.dst = inverse, .data = sum});
  builder_.emit(TensorScalar{
      .dst = dst, .data = logits, .operand0 = inverse, .op0 = AluOp::kMultiply});
}

}  // namespace neuron_sim
