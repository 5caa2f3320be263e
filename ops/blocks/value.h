#pragma once
// Matrices on chip with a known layout: passed from one kernel to the next without going to HBM.

#include "device/builder/builder.h"

namespace neuron_sim {

/// A matrix whose rows lie on partitions: the layout of both operands of nc_matmul, with the
/// contracted dimension as rows.
struct BlockedMatrix {
  /// SBUF [partitions, blocks, columns]: row r at partition r % partitions of block r / partitions.
  View tile;
  int64_t rows = 0;
  int64_t columns = 0;

  /// Full blocks, and the rows of a last partial one.
  int64_t full_blocks() const { return rows / tile.size(0); }
  int64_t rest() const { return rows % tile.size(0); }
  /// [rows, columns] of one block.
  View part(const Affine& block, int64_t block_rows, const Affine& column,
            int64_t column_count) const {
    return tile.select(1, block).slice(0, 0, block_rows).slice(1, column, column_count);
  }
};

/// A tile ring for matrices of at most [rows, columns].
View blocked_tile(Builder& builder, const std::string& label, int64_t rows, int64_t columns,
                  Dtype dtype, int ring = 1);
/// Bytes per partition of such a tile.
int64_t blocked_bytes(const Limits& limits, int64_t rows, int64_t columns, Dtype dtype);

}  // namespace neuron_sim
