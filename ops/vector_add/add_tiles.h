#pragma once
// Rings of tiles that hold vector_add's operands; see vector_add.h.

#include <array>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Adds pieces of two HBM tensors of one dtype.
class AddTiles {
 public:
  /// Rings of `ring` tiles [partitions, elements].
  AddTiles(Builder& builder, Dtype dtype, int64_t partitions, int64_t elements, int ring);
  /// Rings of a, b and the sum placed by hand: first bytes in each partition. Tiles in use at the
  /// same time must not overlap.
  AddTiles(Builder& builder, Dtype dtype, int64_t partitions, int64_t elements, int ring,
           const std::array<int64_t, 3>& base_addresses);

  /// out = a + b for HBM views [P, F...] of equal shape that fit a tile. `turn` counts pieces.
  void add(const View& a, const View& b, const View& out, const Affine& turn);

 private:
  View load_operand(const View& ring, const View& hbm, const Affine& turn);
  void add_wrapping(const View& sum, const View& a, const View& b, const Affine& turn);

  Builder& builder_;
  View a_, b_, sum_;
  View wide_;  ///< int32, for the narrow integers
};

/// Elements per partition of a tile: equal tiles of at most 4 KiB per partition.
int64_t choose_free_dim(const Limits& limits, int64_t elements, Dtype dtype);

/// The strided plan: [...] HBM views of equal shape and rank 2 to 5.
void emit_strided_add(Builder& builder, const View& a, const View& b, const View& out,
                      int64_t free_dim);

}  // namespace neuron_sim
