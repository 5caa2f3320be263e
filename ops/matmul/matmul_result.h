#pragma once
// How tiles of a product leave PSUM: out = activation(scale * product + addend_scale * addend).

#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {

/// Stores tiles of products, with their addends: a row of the addend that belongs to all rows of
/// the output is loaded once per panel of columns, into every partition; else every tile of the
/// output has one of its own, a column of it when that belongs to all columns.
class MatmulResult {
 public:
  /// For panels of at most `columns` columns, `ring` of them in SBUF.
  MatmulResult(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
               int64_t columns, int ring);
  /// Bytes per partition: of each column of a panel, and besides.
  static int64_t bytes_per_column(const MatmulOperands& operands);
  static int64_t bytes(const Limits& limits, const MatmulOperands& operands);

  /// Loads what the columns [column, column + columns) of a panel need.
  void begin_panel(const MatmulOperands& operands, const Affine& column, int64_t columns,
                   const Affine& turn);
  /// psum and staging: tiles of the window's rows and columns at least; `turn` counts tiles.
  void store(const MatmulOperands& operands, const View& psum, const View& staging,
             const OutputTile& window, const Affine& turn);

 private:
  View addend_of(const MatmulOperands& operands, const OutputTile& window, const Affine& turn);

  Builder& builder_;
  const Epilogue& epilogue_;
  View rows_, tiles_;  ///< rings: of panels' rows in all partitions, of tiles
  View panel_;         ///< of the panel that was begun
  Affine panel_column_;
};

}  // namespace neuron_sim
