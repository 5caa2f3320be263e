#pragma once
// Exchanges partitions and free dimension of tiles in SBUF; bit-exact on every architecture when
// the engine is kAuto.

#include <functional>

#include "device/builder/builder.h"

namespace neuron_sim {

/// PSUM banks of transposed blocks, unless a kernel says otherwise.
inline constexpr int kTransposeRing = 3;

/// Tensor engine where that is bit-exact: up to a PSUM bank of 128x128 blocks side by side,
/// then one copy for all (as the vendor's compiler does). Elsewhere (generation 2, whose
/// transpose is a product with an identity, so that one NaN would spoil a whole row) the Vector
/// engine, in 32x32 blocks straight from SBUF to SBUF. Either can be requested.
class Transposer {
 public:
  /// Takes `ring` banks of PSUM when the Tensor engine is used. `engine`: kTensor, kVector, or
  /// kAuto as above. kTensor without features.exact_transpose needs a floating dtype.
  Transposer(Builder& builder, Dtype dtype, int ring = kTransposeRing,
             EngineKind engine = EngineKind::kAuto);

  /// Blocks that one call of `transpose` takes at most.
  int64_t group() const { return group_; }
  /// dst[f, j, p] = source(j)[p, f]. `dst` is SBUF [F, count, P], every source SBUF [P, F], with
  /// P and F at most the number of partitions. `turn` counts calls, to rotate the ring;
  /// `copy_engine` empties PSUM: Vector, Scalar, or kAuto, which
  /// is Scalar for transposes by multiplying, as Vector has the sums of the products to take.
  void transpose(const View& dst, const std::function<View(int64_t)>& source, const Affine& turn,
                 EngineKind copy_engine = EngineKind::kAuto);

 private:
  void by_vector(const View& dst, const View& source);

  Builder& builder_;
  View psum_;
  int64_t group_;
  EngineKind copy_engine_ = EngineKind::kVector;  ///< kAuto
};

}  // namespace neuron_sim
