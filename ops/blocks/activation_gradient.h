#pragma once
// Derivatives of the functions of the Scalar engine, on tiles.

#include "device/builder/builder.h"
#include "device/numerics/activation_functions.h"

namespace neuron_sim {

/// gradient * function'(sum) as torch computes it: relu passes sums above 0 (and NaN), also
/// next to infinities and NaN in the gradient; everything is computed in fp32 and rounded once.
class ActivationGradient {
 public:
  /// Tiles of at most `shape` [partitions, free...]; gradients of `dtype`.
  ActivationGradient(Builder& builder, Activation function, const std::vector<int64_t>& shape,
                     Dtype dtype, int ring = 2);
  /// Bytes per element of a tile that the scratch of one ring member takes.
  static int64_t scratch_bytes(Activation function, Dtype dtype);

  /// dst = gradient * function'(sum). Tiles [P, F...] of one shape in SBUF; `sum` is fp32 and is
  /// overwritten, `gradient` of the dtype of the constructor, `dst` of any float dtype and may be
  /// `gradient`. `turn` counts calls.
  void emit(const View& dst, const View& gradient, const View& sum, const Affine& turn);

 private:
  /// The part of a scratch tile that has the shape of `like`.
  static View cut(const View& tile, const View& like, const Affine& turn);
  void emit_relu(const View& dst, const View& gradient, const View& sum, const Affine& turn);
  /// Overwrites `sum` with function'(sum).
  void derive(const View& sum, const Affine& turn);

  Builder& builder_;
  Activation function_;
  View first_, mask_;
};

}  // namespace neuron_sim
