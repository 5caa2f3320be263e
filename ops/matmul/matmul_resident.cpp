#include <algorithm>
#include <optional>

#include "ops/blocks/contraction.h"
#include "ops/blocks/tiles.h"
#include "ops/matmul/matmul_plans.h"
#include "ops/matmul/matmul_result.h"

namespace neuron_sim {
namespace {

// Rows of results of at most so many bytes are stored whole, so that the next kernel finds them in
// one tile; longer ones piece by piece, each as soon as it is ready.
constexpr int64_t kWholeRow = 8192;

/// Columns of a result tile for panels of `columns` columns.
int64_t staged_columns(const Limits& limits, const MatmulOperands& operands, int64_t columns) {
  const bool whole = columns * itemsize(operands.out.dtype()) <= kWholeRow;
  return whole ? columns : std::min(product_columns(limits), columns);
}

/// Rows of a that are loaded at a time. Those of a product that is computed as its transpose are
/// columns of weights, which are contiguous: the columns of a bank make as long descriptors as the
/// panels of b have.
int64_t rows_at_once(const Limits& limits, const MatmulOperands& operands) {
  const bool long_descriptors = operands.is_turned && !needs_transposing(operands.a_by_depth());
  const int64_t rows = long_descriptors ? product_columns(limits) : limits.partitions;
  return std::min(rows, operands.rows());
}

/// One panel of columns of each right operand with the row tiles of a streaming past them.
class ResidentMatmul {
 public:
  ResidentMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                 const ResidentPlan& plan)
      : builder_(builder),
        plan_(plan),
        operands_(operands),
        result_(builder, operands, epilogue, std::min(plan.columns, operands.columns()),
                plan.ring) {
    const Limits& limits = builder.limits();
    const Dtype dtype = operands.dtype();
    const int64_t depth = operands.depth();
    row_tile_ = limits.partitions;
    column_tile_ = std::min(product_columns(limits), operands.columns());
    factors_ = static_cast<int>(operands.factors().size());
    panel_ = blocked_tile(builder, "b_panel", depth, std::min(plan.columns, operands.columns()),
                          dtype, plan.ring * factors_);
    row_group_ = rows_at_once(limits, operands);
    rows_ = blocked_tile(builder, "a_rows", depth, row_group_, dtype, kDoubleBuffer);
    staged_columns_ = staged_columns(limits, operands, std::min(plan.columns, operands.columns()));
    staging_ = builder.sbuf("result", {limits.partitions, staged_columns_}, operands.out.dtype(),
                            staged_columns_ > column_tile_ ? kDoubleBuffer : kOutputRing);
    psum_ =
        builder.psum("product", {limits.partitions, column_tile_}, Dtype::kFloat32, kResultRing);
    const bool transposes =
        needs_transposing(operands.a_by_depth()) || needs_transposing(operands.b);
    if (transposes) transposer_.emplace(builder, dtype, kTransposeRing, operands.transpose_engine);
    Transposer* transposer = transposes ? &*transposer_ : nullptr;
    // a on a separate queue: its first tile need not wait for all of b.
    load_a_.emplace(builder, operands.a_by_depth(), depth, transposer, EngineKind::kScalar,
                    kDoubleBuffer, dtype);
    load_b_.emplace(builder, operands.b, depth, transposer, kLoadQueue, kDoubleBuffer, dtype);
  }

  void emit(const MatmulOperands& operands, const Affine& batch) {
    operands_ = operands;
    const int64_t panels = ceiling(operands.columns(), plan_.columns);
    first_row_group_ = batch * ceiling(operands.rows(), row_group_);
    first_row_tile_ = batch * ceiling(operands.rows(), row_tile_);
    first_column_tile_ = batch * ceiling(operands.columns(), column_tile_);
    result_.begin_product(operands, batch);
    for_tiles(builder_, operands.columns(), plan_.columns,
              [&](const Affine& column, int64_t columns, const Affine& index) {
                emit_panel(column, columns, batch * panels + index);
              });
  }

 private:
  /// The same columns of all right operands.
  struct Panels {
    Affine first;  ///< turn of the first one in the ring
    int64_t columns;
  };

  void emit_panel(const Affine& column, int64_t columns, const Affine& index) {
    const Panels panels{index * factors_, columns};
    for_tiles_ahead(
        builder_, operands_.rows(), row_group_,
        [&](const Affine& row, int64_t rows, const Affine& group) {
          load_a_->load(operands_.a_by_depth().slice(1, row, rows), row_group(group, rows),
                        first_row_group_ + group);
          // The panel comes after the first rows, which are small and needed at once.
          if (!group.is_constant() || group.constant() != 0) return;
          load_panels(panels, column);
          result_.begin_panel(operands_, column, columns, index);
        },
        [&](const Affine&, int64_t count, const Affine& group) {
          const BlockedMatrix loaded = row_group(group, count);
          for (int64_t row = 0; row < count; row += row_tile_) {
            const Affine tile = group * ceiling(row_group_, row_tile_) + row / row_tile_;
            emit_row_tile(panels, column, tile, {loaded, row, std::min(row_tile_, count - row)});
          }
        });
  }

  BlockedMatrix panel_of(const Panels& panels, int factor) const {
    return {panel_.turn(panels.first + factor), operands_.depth(), panels.columns};
  }

  void load_panels(const Panels& panels, const Affine& column) {
    const std::vector<View> factors = operands_.factors();
    for_tiles(builder_, panels.columns, column_tile_,
              [&](const Affine& start, int64_t count, const Affine& index) {
                for (int k = 0; k < factors_; ++k) {
                  const BlockedMatrix panel = panel_of(panels, k);
                  load_b_->load(factors[static_cast<size_t>(k)].slice(1, column + start, count),
                                {panel.tile.slice(2, start, count), panel.rows, count},
                                (first_column_tile_ + index) * factors_ + k);
                }
              });
  }

  BlockedMatrix row_group(const Affine& group, int64_t rows) const {
    return {rows_.turn(first_row_group_ + group), operands_.depth(), rows};
  }

  void emit_row_tile(const Panels& panels, const Affine& panel_column, const Affine& tile,
                     const ColumnWindow& stationary) {
    const int64_t rows = stationary.columns;
    const int64_t steps = ceiling(panels.columns, column_tile_);
    const bool whole = staged_columns_ > column_tile_;
    const View row = staging_.turn(first_row_tile_ + tile).slice(0, 0, rows);
    for_tiles(builder_, panels.columns, column_tile_,
              [&](const Affine& start, int64_t count, const Affine& index) {
                const Affine turn = (first_row_tile_ + tile) * steps + index;
                const OutputTile window{tile * row_tile_, rows, panel_column + start, count};
                View psum;
                for (int k = 0; k < factors_; ++k) {
                  psum = psum_.turn(turn * factors_ + k).slice(0, 0, rows).slice(1, 0, count);
                  multiply(builder_, psum, stationary, {panel_of(panels, k), start, count});
                  if (k + 1 < factors_) result_.evict_gate(operands_, psum, window, turn);
                }
                const View staged = whole
                                        ? row.slice(1, start, count)
                                        : staging_.turn(turn).slice(0, 0, rows).slice(1, 0, count);
                result_.evict(operands_, psum, staged, window, turn);
                if (!whole) result_.store(operands_, staged, window);
              });
    if (!whole) return;
    result_.store(operands_, row.slice(1, 0, panels.columns),
                  {tile * row_tile_, rows, panel_column, panels.columns});
  }

  Builder& builder_;
  const ResidentPlan plan_;
  MatmulOperands operands_;  ///< of the product being emitted
  MatmulResult result_;
  Affine first_row_group_, first_row_tile_,
      first_column_tile_;  ///< of the product, counted over the batch
  int64_t row_tile_ = 0, row_group_ = 0, column_tile_ = 0, staged_columns_ = 0;
  int factors_ = 1;  ///< right operands
  View panel_, rows_, staging_, psum_;
  std::optional<Transposer> transposer_;
  std::optional<ContractionLoader> load_a_, load_b_;
};

}  // namespace

ResidentPlan plan_resident(const Architecture& architecture, const MatmulBatch& batch) {
  const Limits& limits = architecture.limits;
  const MatmulOperands& operands = batch.first;
  const int64_t depth = operands.depth(), columns = operands.columns();
  const Dtype dtype = operands.dtype();
  const int64_t rows = rows_at_once(limits, operands);
  // Rings are rounded up to allocation steps; 1 KiB covers all of them.
  const int64_t others = kDoubleBuffer * blocked_bytes(limits, depth, rows, dtype) +
                         ContractionLoader::staging_bytes(operands.a_by_depth(), depth, dtype) +
                         ContractionLoader::staging_bytes(operands.b, depth, dtype) +
                         std::max(kDoubleBuffer * kWholeRow, kOutputRing * product_columns(limits) *
                                                                 itemsize(operands.out.dtype())) +
                         MatmulResult::bytes(architecture, operands) + 1024;
  const int64_t column = std::ssize(operands.factors()) * blocked_bytes(limits, depth, 1, dtype) +
                         MatmulResult::bytes_per_column(limits, operands);
  const int64_t step = product_columns(limits);
  int64_t fitting = (limits.sbuf_usable.count - others) / column;
  // Panels of two products leave room for weights of the next kernel, which load meanwhile.
  if (!operands.gate.empty()) fitting = std::max(fitting / 2, std::min(fitting, 2 * step));
  // The next product of a batch loads while this one is multiplied.
  if (columns <= fitting) return {columns, batch.count > 1 && 2 * columns <= fitting ? 2 : 1};
  // A panel of two column tiles loads one of the next panel while the other is in use. A narrower
  // one needs a second panel, unless many row tiles make the wait short in comparison.
  if (fitting >= 2 * step) return {fitting / step * step, 1};
  if (operands.rows() >= 8 * limits.partitions && fitting >= limits.partitions) {
    return {fitting / limits.partitions * limits.partitions, 1};
  }
  return {fitting / 2 / limits.partitions * limits.partitions, 2};
}

void emit_resident_matmul(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                          const ResidentPlan& plan) {
  builder.scope([&] {
    ResidentMatmul kernel(builder, batch.first, epilogue, plan);
    batch.for_each(
        [&](const MatmulOperands& operands, const Affine& index) { kernel.emit(operands, index); });
  });
}

}  // namespace neuron_sim
