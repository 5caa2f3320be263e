#include "ops/blocks/softmax.h"

#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/reciprocal.h"
#include "device/isa/reduction/tensor_reduce.h"

namespace neuron_sim {

Softmax::Softmax(Builder& builder) : builder_(builder) {
  constexpr int kRing = 3;
  const std::vector<int64_t> shape{builder.limits().partitions, 1};
  maximum_ = builder.sbuf("row_maximum", shape, Dtype::kFloat32, kRing);
  sum_ = builder.sbuf("row_sum", shape, Dtype::kFloat32, kRing);
  inverse_ = builder.sbuf("row_inverse", shape, Dtype::kFloat32, kRing);
}

void Softmax::start(const View& logits, const Affine& turn) {
  const int64_t rows = logits.partitions();
  const View maximum = maximum_.turn(turn).slice(0, 0, rows);
  builder_.emit(
      TensorReduce{.dst = maximum, .data = logits, .op = AluOp::kMaximum, .negate = true});
  builder_.emit(Activate{.dst = logits,
                         .data = logits,
                         .op = Activation::kExp,
                         .bias_tile = maximum,
                         .reduce_res = sum_.turn(turn).slice(0, 0, rows),
                         .reduce_op = AluOp::kAdd,
                         .reduce_command = ReduceCommand::kResetReduce});
}

void Softmax::finish(const View& dst, const View& logits, const Affine& turn) {
  const View inverse = invert_sum(logits.partitions(), turn);
  builder_.emit(
      Activate{.dst = dst, .data = logits, .op = Activation::kIdentity, .scale_tile = inverse});
}

View Softmax::invert_sum(int64_t rows, const Affine& turn) {
  View inverse = inverse_.turn(turn).slice(0, 0, rows);
  builder_.emit(Reciprocal{.dst = inverse, .data = sum_.turn(turn).slice(0, 0, rows)});
  return inverse;
}

}  // namespace neuron_sim
