#include <algorithm>
#include <optional>

#include "ops/blocks/contraction.h"
#include "ops/blocks/tiles.h"
#include "ops/matmul/matmul_plans.h"
#include "ops/matmul/matmul_result.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRowTiles = 4;  // PSUM banks that accumulate together
constexpr int kPanelRing = 2;
constexpr int kStagingRing = 4;  // panels are short: several loads in flight hide their latency
constexpr int kKeptPanelRing = 4;

/// Rows of a block of the output.
int64_t block_rows(const Limits& limits, const MatmulOperands& operands) {
  return std::min(kRowTiles * limits.partitions, operands.rows());
}

/// A block of the output, [4 row tiles, 512 columns], accumulating while K streams by.
class StreamedMatmul {
 public:
  StreamedMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                 const StreamedPlan& plan)
      : builder_(builder),
        operands_(operands),
        result_(builder, operands, epilogue,
                std::min(product_columns(builder.limits()), operands.columns()), 1),
        panel_rows_(plan.panel_rows),
        keeps_rows_(plan.keeps_rows) {
    const Limits& limits = builder.limits();
    const Dtype dtype = operands.dtype();
    row_tile_ = limits.partitions;
    const int64_t rows = block_rows(limits, operands);
    const int64_t columns = std::min(product_columns(limits), operands.columns());
    row_tiles_ = ceiling(rows, row_tile_);
    a_panel_ = blocked_tile(builder, "a_panel", keeps_rows_ ? operands.depth() : panel_rows_, rows,
                            dtype, keeps_rows_ ? 1 : kPanelRing);
    b_panel_ = blocked_tile(builder, "b_panel", panel_rows_, columns, dtype,
                            keeps_rows_ ? kKeptPanelRing : kPanelRing);
    staging_ = builder.sbuf("result", {row_tile_, columns}, operands.out.dtype(), kOutputRing);
    psum_ =
        builder.psum("product", {row_tile_, columns}, Dtype::kFloat32, static_cast<int>(kRowTiles));
    const bool transposes =
        needs_transposing(operands.a_by_depth()) || needs_transposing(operands.b);
    if (transposes) transposer_.emplace(builder, dtype, kTransposeRing, operands.transpose_engine);
    Transposer* transposer = transposes ? &*transposer_ : nullptr;
    load_a_.emplace(builder, operands.a_by_depth(), panel_rows_, transposer, EngineKind::kScalar,
                    kStagingRing, dtype);
    load_b_.emplace(builder, operands.b, panel_rows_, transposer, kLoadQueue, kStagingRing, dtype);
  }

  void emit(const MatmulOperands& operands, const Affine& batch) {
    operands_ = operands;
    result_.begin_product(operands, batch);
    const int64_t width = product_columns(builder_.limits());
    for_tiles(builder_, operands.rows(), kRowTiles * row_tile_,
              [&](const Affine& row, int64_t rows, const Affine&) {
                if (keeps_rows_) load_rows(row, rows);
                for_tiles(builder_, operands.columns(), width,
                          [&](const Affine& column, int64_t columns, const Affine& index) {
                            block_ = keeps_rows_ ? index : 0;
                            emit_block({row, rows, column, columns});
                          });
              });
  }

 private:
  /// All of K of the rows of a block.
  void load_rows(const Affine& row, int64_t rows) {
    const View source = operands_.a_by_depth().slice(1, row, rows);
    for_tiles(builder_, operands_.depth(), panel_rows_,
              [&](const Affine& first, int64_t depth, const Affine& panel) {
                load_a_->load(source.slice(0, first, depth), a_panel(rows, panel, depth), panel);
              });
  }

  void emit_block(const OutputTile& block) {
    const std::vector<View> factors = operands_.factors();
    for (size_t k = 0; k < factors.size(); ++k) {
      product_ = block_ * std::ssize(factors) + static_cast<int64_t>(k);
      accumulate(block, factors[k]);
      if (k == 0) result_.begin_panel(operands_, block.column, block.columns, 0);
      empty_banks(block, k + 1 < factors.size());
    }
  }

  void accumulate(const OutputTile& block, const View& factor) {
    const int64_t depth = operands_.depth();
    const int64_t full = depth / panel_rows_, rest = depth % panel_rows_;
    const auto rows = [&](int64_t panel) { return panel < full ? panel_rows_ : rest; };
    const int64_t panels = full + (rest > 0 ? 1 : 0);
    // Each panel is prepared before the multiplication of the previous one; the first one
    // overwrites PSUM, so it is peeled.
    prepare(block, factor, 0, rows(0));
    if (panels > 1) prepare(block, factor, 1, rows(1));
    multiply_panel(block, 0, rows(0), false);
    builder_.loop(std::max<int64_t>(full - 2, 0), [&](const Affine& panel) {
      prepare(block, factor, panel + 2, panel_rows_);
      multiply_panel(block, panel + 1, panel_rows_, true);
    });
    if (full > 1 && rest > 0) prepare(block, factor, full, rest);
    if (full > 1) multiply_panel(block, full - 1, panel_rows_, true);
    if (full > 0 && rest > 0) multiply_panel(block, full, rest, true);
  }

  View result(int64_t tile, int64_t rows, int64_t columns) const {
    return psum_.turn(product_ * row_tiles_ + tile).slice(0, 0, rows).slice(1, 0, columns);
  }

  void for_row_tiles(int64_t rows,
                     const std::function<void(int64_t tile, int64_t row, int64_t rows)>& body) {
    for (int64_t row = 0; row < rows; row += row_tile_) {
      body(row / row_tile_, row, std::min(row_tile_, rows - row));
    }
  }

  BlockedMatrix a_panel(int64_t rows, const Affine& panel, int64_t depth) const {
    if (!keeps_rows_) return {a_panel_.turn(panel).slice(2, 0, rows), depth, rows};
    const View part =
        a_panel_.slice(1, panel * (panel_rows_ / row_tile_), ceiling(depth, row_tile_));
    return {part.slice(2, 0, rows), depth, rows};
  }
  BlockedMatrix b_panel(const OutputTile& block, const Affine& panel, int64_t depth) const {
    const Affine turn = product_ * ceiling(operands_.depth(), panel_rows_) + panel;
    return {b_panel_.turn(turn).slice(2, 0, block.columns), depth, block.columns};
  }

  void prepare(const OutputTile& block, const View& factor, const Affine& panel, int64_t depth) {
    const Affine first = panel * panel_rows_;
    if (!keeps_rows_) {
      load_a_->load(operands_.a_by_depth().slice(0, first, depth).slice(1, block.row, block.rows),
                    a_panel(block.rows, panel, depth), panel);
    }
    load_b_->load(factor.slice(0, first, depth).slice(1, block.column, block.columns),
                  b_panel(block, panel, depth), panel);
  }

  void multiply_panel(const OutputTile& block, const Affine& panel, int64_t depth,
                      bool accumulate) {
    const BlockedMatrix a = a_panel(block.rows, panel, depth), b = b_panel(block, panel, depth);
    for_row_tiles(block.rows, [&](int64_t tile, int64_t row, int64_t rows) {
      multiply(builder_, result(tile, rows, block.columns), {a, row, rows}, {b, 0, block.columns},
               accumulate);
    });
  }

  void empty_banks(const OutputTile& block, bool of_gate) {
    for_row_tiles(block.rows, [&](int64_t tile, int64_t row, int64_t rows) {
      const OutputTile window{block.row + row, rows, block.column, block.columns};
      const View psum = result(tile, rows, block.columns);
      if (of_gate) return result_.evict_gate(operands_, psum, window, tile);
      const View staged =
          staging_.turn(block_ * row_tiles_ + tile).slice(0, 0, rows).slice(1, 0, block.columns);
      result_.evict(operands_, psum, staged, window, tile);
      result_.store(operands_, staged, window);
    });
  }

  Builder& builder_;
  MatmulOperands operands_;  ///< of the product being emitted
  MatmulResult result_;
  const int64_t panel_rows_;
  const bool keeps_rows_;
  int64_t row_tile_ = 0, row_tiles_ = 0;
  Affine block_ = 0, product_ = 0;  ///< count blocks of the same rows, to rotate rings
  View a_panel_, b_panel_, staging_, psum_;
  std::optional<Transposer> transposer_;
  std::optional<ContractionLoader> load_a_, load_b_;
};

}  // namespace

bool can_keep_rows(const Architecture& architecture, const MatmulOperands& operands,
                   int64_t panel_rows) {
  const Limits& limits = architecture.limits;
  const Dtype dtype = operands.dtype();
  const int64_t columns = std::min(product_columns(limits), operands.columns());
  const auto staging = [&](const View& matrix) {
    return kStagingRing / 2 * ContractionLoader::staging_bytes(matrix, panel_rows, dtype);
  };
  // Rings are rounded up to allocation steps; 1 KiB covers all of them.
  const int64_t bytes =
      blocked_bytes(limits, operands.depth(), block_rows(limits, operands), dtype) +
      kKeptPanelRing * blocked_bytes(limits, panel_rows, columns, dtype) +
      staging(operands.a_by_depth()) + staging(operands.b) +
      kOutputRing * columns * itemsize(operands.out.dtype()) +
      MatmulResult::bytes_per_column(limits, operands) * columns +
      MatmulResult::bytes(architecture, operands) + 1024;
  return bytes <= limits.sbuf_usable.count;
}

int64_t row_blocks(const Limits& limits, const MatmulOperands& operands) {
  return ceiling(operands.rows(), kRowTiles * limits.partitions);
}

void emit_streamed_matmul(Builder& builder, const MatmulBatch& batch, const Epilogue& epilogue,
                          const StreamedPlan& plan) {
  builder.scope([&] {
    StreamedMatmul kernel(builder, batch.first, epilogue, plan);
    batch.for_each([&](const MatmulOperands& operands, const Affine& number) {
      kernel.emit(operands, number);
    });
  });
}

}  // namespace neuron_sim
