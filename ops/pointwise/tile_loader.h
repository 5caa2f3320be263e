#pragma once
// Loads a piece of several operands and computes an expression of them.

#include "ops/contract/hbm_tensor.h"
#include "ops/pointwise/expression_emitter.h"
#include "ops/pointwise/row_spreader.h"

namespace neuron_sim {

/// Sizes of a tile, and for every operand its steps and first element (elements).
struct TilePiece {
  std::vector<int64_t> sizes;  ///< partitions, then one to four free dimensions
  std::vector<std::vector<int64_t>> steps;
  std::vector<Affine> starts;
};

/// The fp32 tile (or the operand's own, when the expression is the operand) of
/// expression(operands).
class TileLoader {
 public:
  /// Tiles of at most [partitions, elements]; `ring` of them are in flight.
  TileLoader(Builder& builder, const Expression& expression, std::span<const HbmTensor> operands,
             int64_t partitions, int64_t elements, int ring = 2);
  /// Bytes per partition and element that a loader takes.
  static int64_t bytes_per_element(const Builder& builder, const Expression& expression,
                                   std::span<const HbmTensor> operands, int ring = 2);

  /// [P, F...] in the piece's sizes. Valid until `ring` further calls.
  View load(const TilePiece& piece, const Affine& turn);

 private:
  View load_operand(size_t index, const TilePiece& piece, const Affine& turn);

  Builder& builder_;
  std::vector<HbmTensor> operands_;
  std::optional<ExpressionEmitter> emitter_;  ///< absent: the expression is operand 0
  std::vector<View> rings_;
  View values_;
};

/// [P, F] in the shape of `sizes` ([P, f...] with the same elements).
View reshaped(View tile, const std::vector<int64_t>& sizes);
/// Loads [P, f...] from HBM into a part of `ring` of the turn; dimensions of stride 0 are loaded
/// once and repeated by the view that is returned. A row that all partitions share comes from
/// `spreader`, if there is one.
View load_repeating(Builder& builder, const View& ring, const View& hbm, const Affine& turn,
                    RowSpreader* spreader = nullptr);

}  // namespace neuron_sim
