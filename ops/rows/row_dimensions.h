#pragma once
// The dimensions that a row program goes over.

#include <span>
#include <vector>

#include "ops/blocks/collapse.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {

/// Kept dimensions (rows) and row dimensions (columns) of operands and results together.
struct RowDimensions {
  std::vector<SharedDimension> rows, columns;

  static RowDimensions of(const RowProgram& program, std::span<const HbmTensor> tensors);
  int64_t column_elements() const;
  /// Sizes of a tile of `count` rows, `group` of them to a partition: partitions, group, columns.
  std::vector<int64_t> tile_sizes(int64_t count, int64_t group) const;
  /// The strides of a tensor (elements) in such a tile, whose rows go along dimension `row`.
  std::vector<int64_t> tile_steps(size_t row, size_t tensor, int64_t group) const;
};

}  // namespace neuron_sim
