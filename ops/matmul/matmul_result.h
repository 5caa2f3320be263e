#pragma once
// How tiles of a product leave PSUM: out = activation(scale * product + addend_scale * addend), or
// an expression of that and of other operands.

#include <memory>
#include <optional>

#include "ops/blocks/transposer.h"
#include "ops/matmul/matmul_plans.h"
#include "ops/pointwise/expression_emitter.h"
#include "ops/pointwise/row_spreader.h"

namespace neuron_sim {

/// Stores tiles of products, with their addends. The PE array adds an addend row that all rows of
/// the output share to the sums, or repeats it on every partition when product or addend are scaled
/// (RowSpreader); it is loaded once per panel of columns. In the transpose of a product such a row
/// is a column: one number per partition and row tile, which the instruction that empties PSUM
/// adds. Otherwise each tile of the output has its own addend tile, or one column of it when all
/// columns share that. Of the other operands, a row that more than one row tile needs is on every
/// partition once per panel.
class MatmulResult {
 public:
  /// For panels of at most `columns` columns, `ring` of them in SBUF.
  MatmulResult(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
               int64_t columns, int ring);
  /// Bytes per partition: per column of a panel, and the rest.
  static int64_t bytes_per_column(const Limits& limits, const MatmulOperands& operands);
  static int64_t bytes(const Architecture& architecture, const MatmulOperands& operands);

  /// Loads what all columns of a product share; `turn` counts products.
  void begin_product(const MatmulOperands& operands, const Affine& turn);
  /// Loads what all rows share of the columns [column, column + columns) of a panel.
  void begin_panel(const MatmulOperands& operands, const Affine& column, int64_t columns,
                   const Affine& turn);
  /// Empties psum, the sums of the gate, whose tile waits for evict() of the same window and turn.
  void evict_gate(const MatmulOperands& operands, const View& psum, const OutputTile& window,
                  const Affine& turn);
  /// Empties psum into `tile`, both of the window's rows and columns; `turn` counts windows.
  void evict(const MatmulOperands& operands, const View& psum, const View& tile,
             const OutputTile& window, const Affine& turn);
  /// Stores such a tile.
  void store(const MatmulOperands& operands, const View& tile, const OutputTile& window);

 private:
  View addend_of(const MatmulOperands& operands, const OutputTile& window, const Affine& turn);
  void load_column(const View& numbers, const Affine& first_tile, const Affine& call);
  void add_column(const MatmulOperands& operands, const View& psum, const View& tile,
                  const OutputTile& window, const Affine& turn);
  void scale(const MatmulOperands& operands, const View& psum);
  void add(const MatmulOperands& operands, const View& psum, const View& sum,
           const OutputTile& window, const Affine& turn);
  void emit_after(const MatmulOperands& operands, const View& psum, const View& tile,
                  const OutputTile& window, const Affine& turn);

  View gate_tile(const OutputTile& window, const Affine& turn) const;

  Builder& builder_;
  const Epilogue epilogue_;
  std::unique_ptr<MatmulResult> gate_;    ///< of MatmulOperands::gate, where there is one
  View gates_;                            ///< ring: its tiles
  std::optional<RowSpreader> spreader_;   ///< of a row that all rows share
  View rows_, tiles_;                     ///< rings: panels' rows in all partitions; tiles
  std::optional<Transposer> transposer_;  ///< of the column that all columns share
  View staged_, cast_, columns_;          ///< rings: its pieces as loaded, in fp32; its numbers
  View column_;                           ///< of the current product
  std::vector<View> others_;              ///< rings of tiles; of panels' rows, where all share one
  std::vector<View> shared_;              ///< of the current panel, by other operand
  std::optional<ExpressionEmitter> after_;  ///< of MatmulOperands::after
  View panel_;                              ///< of the current panel
  Affine panel_column_;
};

}  // namespace neuron_sim
