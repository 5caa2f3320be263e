#pragma once
// How tiles of a product leave PSUM: out = activation(scale * product + addend_scale * addend).

#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {

/// Stores tiles of products, with their addends: an addend row shared by all rows of the output is
/// loaded once per panel of columns, into every partition; otherwise each tile of the output has a
/// separate addend tile, or one column of it when all columns share that.
class MatmulResult {
 public:
  /// For panels of at most `columns` columns, `ring` of them in SBUF.
  MatmulResult(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
               int64_t columns, int ring);
  /// Bytes per partition: per column of a panel, and the rest.
  static int64_t bytes_per_column(const MatmulOperands& operands);
  static int64_t bytes(const Limits& limits, const MatmulOperands& operands);

  /// Loads the addends of the columns [column, column + columns) of a panel.
  void begin_panel(const MatmulOperands& operands, const Affine& column, int64_t columns,
                   const Affine& turn);
  /// psum and staging: tiles of the window's rows and columns at least; `turn` counts tiles.
  void store(const MatmulOperands& operands, const View& psum, const View& staging,
             const OutputTile& window, const Affine& turn);

 private:
  View addend_of(const MatmulOperands& operands, const OutputTile& window, const Affine& turn);

  Builder& builder_;
  const Epilogue& epilogue_;
  View rows_, tiles_;  ///< rings: panels' rows in all partitions; tiles
  View panel_;         ///< of the current panel
  Affine panel_column_;
};

}  // namespace neuron_sim
