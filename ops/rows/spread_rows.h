#pragma once
// Rows of a matrix spread over the partitions, for kernels that compare all elements of a row.

#include "device/builder/builder.h"
#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// How rows lie on chip: each on `lanes` partitions (a power of two) of `width` elements, or
/// several on one partition. Element i of a row lies in lane i / width.
struct RowSpread {
  int64_t length = 0;            ///< of a row
  int64_t lanes = 1, width = 1;  ///< lanes * width >= length
  int64_t stacked = 1;           ///< rows on one partition; 1 with several lanes

  int64_t padded() const { return lanes * width; }
};

/// Some rows of a matrix on chip: partitions [0, count * lanes / stacked).
struct SpreadRows {
  RowSpread spread;
  Affine first;       ///< row of the matrix
  int64_t count = 0;  ///< a multiple of spread.stacked

  int64_t partitions() const { return count * spread.lanes / spread.stacked; }
  int64_t columns() const { return spread.stacked * spread.width; }
  /// Calls body(part of the rows in HBM, part of `tile`) for each DMA between `tile`
  /// [partitions, columns] and the first elements of the rows of `matrix` [R, at most padded].
  void for_transfers(const HbmTensor& matrix, const View& tile,
                     const std::function<void(const View& hbm, const View& tile)>& body) const;
  /// tile (fp32 [partitions, columns]) = the place of each element in its row.
  void places(Builder& builder, const View& tile) const;
  /// tile (fp32 [partitions, 1]) = the place of the first element of each partition.
  void first_places(Builder& builder, const View& tile) const;
};

/// Calls body for all of the `rows` rows, as many at a time as the partitions hold.
void for_spread_rows(Builder& builder, int64_t rows, const RowSpread& spread,
                     const std::function<void(const SpreadRows&)>& body);

}  // namespace neuron_sim
