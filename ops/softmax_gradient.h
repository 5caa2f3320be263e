#pragma once
// The derivative of softmax over the free dimension of a tile.

#include "ops/softmax.h"

namespace neuron_sim {

/// y * (g - sum(g * y)) with y = softmax(x): the sum of g * y of each row comes from the Scalar
/// engine's registers, the rest is two instructions on Vector and one on Scalar.
class SoftmaxGradient {
 public:
  /// For rows of at most `columns`; takes `ring` fp32 tiles.
  SoftmaxGradient(Builder& builder, int64_t columns, int ring);
  /// Bytes per column that one ring member takes.
  static int64_t scratch_bytes() { return itemsize(Dtype::kFloat32); }

  /// dst[P, F] = the gradient of the logits, given that of their softmax. `logits` is fp32 and is
  /// overwritten; all in SBUF. `turn` counts calls.
  void emit(const View& dst, const View& gradient, const View& logits, const Affine& turn);

 private:
  Builder& builder_;
  Softmax softmax_;
  View product_, sum_, negated_;
};

}  // namespace neuron_sim
