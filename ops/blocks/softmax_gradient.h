#pragma once
// The derivative of softmax over the free dimension of a tile.

#include "ops/blocks/block_sums.h"
#include "ops/blocks/softmax.h"

namespace neuron_sim {

/// y * (g - sum(g * y)) with y = e / sum(e). The exponentials e are unchanged: the row's factors
/// 1 / sum(e) and sum(g * y) are applied to g in one instruction.
class SoftmaxGradient {
 public:
  /// For rows of at most `columns`; takes `ring` fp32 tiles.
  SoftmaxGradient(Builder& builder, int64_t columns, int ring);
  /// Bytes per column that one ring member takes.
  static int64_t scratch_bytes() { return itemsize(Dtype::kFloat32); }

  /// The exponentials, in place of `logits` [P, F], fp32 in SBUF. `turn` counts calls.
  void start(const View& logits, const Affine& turn) { softmax_.start(logits, turn); }
  /// dst = the gradient of the logits, given that of their softmax; all [P, F] in SBUF. Emit the
  /// start of the next tile before it, so that Vector does not wait for Scalar.
  void finish(const View& dst, const View& gradient, const View& exponentials, const Affine& turn);

 private:
  Builder& builder_;
  Softmax softmax_;
  BlockSums block_sums_;
  View product_, sum_, offset_;
};

}  // namespace neuron_sim
