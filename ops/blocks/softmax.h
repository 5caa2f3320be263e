#pragma once
// Softmax over the free dimension of a tile.

#include "device/builder/builder.h"

namespace neuron_sim {

/// Row maximum (Vector), exp with the negated maximum as bias and a running sum (Scalar, one
/// instruction), reciprocal of the sum (Vector) and a multiplication (Scalar, which is less
/// busy). NaN, and infinity - infinity, make the whole row NaN, as in torch.
class Softmax {
 public:
  /// Takes rings of tiles [partitions, 1].
  explicit Softmax(Builder& builder);
  /// dst[P, F] = softmax of each row of logits [P, F]; `logits` is fp32 in SBUF and is overwritten
  /// with the exponentials. `turn` counts calls.
  void apply(const View& dst, const View& logits, const Affine& turn) {
    start(logits, turn);
    finish(dst, logits, turn);
  }
  /// The two halves, so that `start` of the next tile can be emitted before `finish` of this one:
  /// Vector is in order and would wait for the exponentials.
  void start(const View& logits, const Affine& turn);
  void finish(const View& dst, const View& logits, const Affine& turn);
  /// Instead of `finish`: the reciprocal of the sum of each row's exponentials, [P, 1] fp32.
  View invert_sum(int64_t rows, const Affine& turn);

 private:
  Builder& builder_;
  View maximum_, sum_, inverse_;
};

}  // namespace neuron_sim
