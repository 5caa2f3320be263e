#pragma once
// Softmax over the free dimension of a tile.

#include "device/program/builder.h"

namespace neuron_sim {

/// Row maximum (Vector), exp with the negated maximum as bias and a running sum (Scalar, one
/// instruction), reciprocal of the sum and a multiplication (Vector). NaN, and infinity - infinity,
/// make the whole row NaN, as in torch.
class Softmax {
 public:
  /// Takes rings of `ring` tiles [partitions, 1].
  Softmax(Builder& builder, int ring = 2);
  /// dst[P, F] = softmax of each row of logits [P, F]; `logits` is fp32 in SBUF and is overwritten
  /// with the exponentials. `turn` counts calls.
  void apply(const View& dst, const View& logits, const Affine& turn);

 private:
  Builder& builder_;
  View maximum_, sum_, inverse_;
};

}  // namespace neuron_sim
