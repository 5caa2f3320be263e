// The first steps of the tutorial's ladder: tiled, hoist_load and block_free_dimension.

#include <algorithm>
#include <functional>

#include "ops/blocks/tiles.h"
#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {
namespace {

constexpr int kTileRing = 4;  // tiles of each operand in flight while TensorE multiplies

/// Output tiles being stored: a ring of PSUM banks and one of SBUF tiles.
class OutputTiles {
 public:
  OutputTiles(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue)
      : builder_(builder), out_(operands.out), epilogue_(epilogue) {
    const Limits& limits = builder.limits();
    const std::vector<int64_t> shape{limits.partitions, product_columns(limits)};
    staging_ = builder.sbuf("result", shape, out_.dtype(), kOutputRing);
    psum_ = builder.psum("product", shape, Dtype::kFloat32, kResultRing);
  }
  View product(const Affine& turn, int64_t rows, int64_t columns) const {
    return psum_.turn(turn).slice(0, 0, rows).slice(1, 0, columns);
  }
  void store(const Affine& turn, const OutputTile& window) {
    store_result(builder_, product(turn, window.rows, window.columns), staging_.turn(turn), out_,
                 window, epilogue_);
  }

 private:
  Builder& builder_;
  const View out_;
  const Epilogue& epilogue_;
  View staging_, psum_;
};

class TiledMatmul {
 public:
  TiledMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue)
      : builder_(builder), operands_(operands), output_(builder, operands, epilogue) {
    partitions_ = builder.limits().partitions;
    const Dtype dtype = operands.a.dtype();
    a_ = blocked_tile(builder, "a_tile", partitions_, partitions_, dtype, kTileRing);
    b_ = blocked_tile(builder, "b_tile", partitions_, product_columns(builder.limits()), dtype,
                      kTileRing);
    loaders_.emplace(builder, operands, partitions_);
  }

  /// `turn` counts tiles of the output.
  void emit(const OutputTile& window, const Affine& turn) {
    const int64_t depth = operands_.depth();
    const int64_t full = depth / partitions_, rest = depth % partitions_;
    const int64_t steps = ceiling(depth, partitions_);
    const View psum = output_.product(turn, window.rows, window.columns);
    const auto step = [&](const Affine& index, int64_t rows, bool accumulate) {
      const Affine k = index * partitions_, step_turn = turn * steps + index;
      const BlockedMatrix a{a_.turn(step_turn), rows, window.rows};
      const BlockedMatrix b{b_.turn(step_turn), rows, window.columns};
      loaders_->load_a(operands_.a_by_depth().slice(0, k, rows).slice(1, window.row, window.rows),
                       a, step_turn);
      loaders_->load_b(operands_.b.slice(0, k, rows).slice(1, window.column, window.columns), b,
                       step_turn);
      multiply(builder_, psum, {a, 0, window.rows}, {b, 0, window.columns}, accumulate);
    };
    if (full > 0) step(0, partitions_, false);
    builder_.loop(full > 0 ? full - 1 : 0,
                  [&](const Affine& index) { step(index + 1, partitions_, true); });
    if (rest > 0) step(full, rest, full > 0);
    output_.store(turn, window);
  }

 private:
  Builder& builder_;
  const MatmulOperands& operands_;
  OutputTiles output_;
  int64_t partitions_ = 0;
  View a_, b_;
  std::optional<OperandLoaders> loaders_;
};

/// Blocks of the output: their sizes, and the rows of K that SBUF holds for them.
struct HoistPlan {
  int64_t block_rows, block_columns;
  int64_t depth;  ///< all of K, or a multiple of 128 of it
  int ring;       ///< blocks of each operand in SBUF
};

/// Bytes per partition that HoistedMatmul needs.
int64_t hoisted_bytes(const Limits& limits, const MatmulOperands& operands, const HoistPlan& plan) {
  const Dtype dtype = operands.a.dtype();
  // Rings are rounded up to allocation steps; 1 KiB covers all of them.
  return plan.ring * (blocked_bytes(limits, plan.depth, plan.block_rows, dtype) +
                      blocked_bytes(limits, plan.depth, plan.block_columns, dtype)) +
         ContractionLoader::staging_bytes(operands.a_by_depth(), plan.depth) +
         ContractionLoader::staging_bytes(operands.b, plan.depth) +
         kOutputRing * product_columns(limits) * itemsize(operands.out.dtype()) + 1024;
}

/// All of K twice, so that the next block loads while this one is multiplied; else once; else as
/// much as fits twice.
HoistPlan plan_hoist(const Limits& limits, const MatmulOperands& operands, int64_t row_tiles,
                     int64_t column_tiles) {
  HoistPlan plan{std::min(row_tiles * limits.partitions, operands.rows()),
                 std::min(column_tiles * product_columns(limits), operands.columns()),
                 operands.depth(), 2};
  const auto fits = [&] {
    return hoisted_bytes(limits, operands, plan) <= limits.sbuf_usable.count;
  };
  if (fits()) return plan;
  plan.ring = 1;
  if (fits()) return plan;
  plan.ring = 2;
  plan.depth = operands.depth() / limits.partitions * limits.partitions;
  while (!fits()) plan.depth -= limits.partitions;
  return plan;
}

/// Blocks of the output with K of both operands in SBUF.
class HoistedMatmul {
 public:
  HoistedMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                const HoistPlan& plan)
      : builder_(builder), operands_(operands), plan_(plan), output_(builder, operands, epilogue) {
    const Dtype dtype = operands.a.dtype();
    row_tile_ = builder.limits().partitions;
    column_tile_ = product_columns(builder.limits());
    row_tiles_ = ceiling(plan.block_rows, row_tile_);
    column_tiles_ = ceiling(plan.block_columns, column_tile_);
    a_ = blocked_tile(builder, "a_block", plan.depth, plan.block_rows, dtype, plan.ring);
    b_ = blocked_tile(builder, "b_block", plan.depth, plan.block_columns, dtype, plan.ring);
    loaders_.emplace(builder, operands, plan.depth);
  }

  bool holds_depth() const { return plan_.depth == operands_.depth(); }

  /// Loads rows of a from the panel of K at `k` into block `turn` of the ring.
  void load_rows(const Affine& row, int64_t rows, const Affine& k, int64_t depth,
                 const Affine& turn) {
    const View source = operands_.a_by_depth().slice(0, k, depth);
    for_tiles(
        builder_, rows, row_tile_, [&](const Affine& start, int64_t count, const Affine& index) {
          loaders_->load_a(source.slice(1, row + start, count),
                           part(a_.turn(turn), depth, start, count), turn * row_tiles_ + index);
        });
  }

  /// A block whose rows load_rows has loaded into `row_turn`; `turn` counts blocks.
  void emit(const OutputTile& block, const Affine& row_turn, const Affine& turn) {
    const int64_t depth = operands_.depth();
    load_columns(block, 0, depth, turn);
    for_products(block, [&](const OutputTile& tile, const Affine& index) {
      const Affine product = turn * (row_tiles_ * column_tiles_) + index;
      multiply_tile(tile, depth, {row_turn, turn, product}, false);
      output_.store(product, moved(tile, block));
    });
  }

  /// A block whose K exceeds SBUF: its products accumulate while panels of both
  /// operands stream by.
  void emit_panels(const OutputTile& block, const Affine& turn) {
    const int64_t panels = ceiling(operands_.depth(), plan_.depth);
    const int64_t full = operands_.depth() / plan_.depth, rest = operands_.depth() % plan_.depth;
    const auto products = turn * (row_tiles_ * column_tiles_);
    const auto add = [&](const Affine& panel, int64_t depth, bool accumulate) {
      const Affine step = turn * panels + panel;
      load_rows(block.row, block.rows, panel * plan_.depth, depth, step);
      load_columns(block, panel * plan_.depth, depth, step);
      for_products(block, [&](const OutputTile& tile, const Affine& index) {
        multiply_tile(tile, depth, {step, step, products + index}, accumulate);
      });
    };
    add(0, plan_.depth, false);
    builder_.loop(full - 1, [&](const Affine& panel) { add(panel + 1, plan_.depth, true); });
    if (rest > 0) add(full, rest, true);
    for_products(block, [&](const OutputTile& tile, const Affine& index) {
      output_.store(products + index, moved(tile, block));
    });
  }

 private:
  /// Turns of the rings of a, of b, and of the products in PSUM.
  struct Turns {
    Affine a, b, product;
  };

  void load_columns(const OutputTile& block, const Affine& k, int64_t depth, const Affine& turn) {
    const View source = operands_.b.slice(0, k, depth);
    for_tiles(builder_, block.columns, column_tile_,
              [&](const Affine& start, int64_t count, const Affine& index) {
                loaders_->load_b(source.slice(1, block.column + start, count),
                                 part(b_.turn(turn), depth, start, count),
                                 turn * column_tiles_ + index);
              });
  }

  /// Calls `body` for each tile of a block, with its place in the block.
  void for_products(const OutputTile& block,
                    const std::function<void(const OutputTile&, const Affine& index)>& body) {
    for_tiles(builder_, block.rows, row_tile_,
              [&](const Affine& row, int64_t rows, const Affine& m) {
                for_tiles(builder_, block.columns, column_tile_,
                          [&](const Affine& column, int64_t columns, const Affine& n) {
                            body({row, rows, column, columns}, m * column_tiles_ + n);
                          });
              });
  }

  void multiply_tile(const OutputTile& tile, int64_t depth, const Turns& turns, bool accumulate) {
    multiply(builder_, output_.product(turns.product, tile.rows, tile.columns),
             {part(a_.turn(turns.a), depth, tile.row, tile.rows), 0, tile.rows},
             {part(b_.turn(turns.b), depth, tile.column, tile.columns), 0, tile.columns},
             accumulate);
  }

  static OutputTile moved(const OutputTile& tile, const OutputTile& block) {
    return {block.row + tile.row, tile.rows, block.column + tile.column, tile.columns};
  }

  static BlockedMatrix part(const View& block, int64_t depth, const Affine& column,
                            int64_t columns) {
    return {block.slice(2, column, columns), depth, columns};
  }

  Builder& builder_;
  const MatmulOperands& operands_;
  const HoistPlan plan_;
  OutputTiles output_;
  int64_t row_tile_ = 0, column_tile_ = 0;
  int64_t row_tiles_ = 0, column_tiles_ = 0;  // per block
  View a_, b_;
  std::optional<OperandLoaders> loaders_;
};

}  // namespace

OperandLoaders::OperandLoaders(Builder& builder, const MatmulOperands& operands, int64_t rows,
                               EngineKind a_queue) {
  const bool transposes = needs_transposing(operands.a_by_depth()) || needs_transposing(operands.b);
  if (transposes) transposer_.emplace(builder, operands.a.dtype());
  Transposer* transposer = transposes ? &*transposer_ : nullptr;
  a_.emplace(builder, operands.a_by_depth(), rows, transposer, a_queue);
  b_.emplace(builder, operands.b, rows, transposer, kLoadQueue);
}

void emit_tiled_matmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue) {
  builder.scope([&] {
    TiledMatmul kernel(builder, operands, epilogue);
    const int64_t row_tile = builder.limits().partitions;
    const int64_t column_tile = product_columns(builder.limits());
    const int64_t steps = ceiling(operands.columns(), column_tile);
    for_tiles(builder, operands.rows(), row_tile,
              [&](const Affine& row, int64_t rows, const Affine& m) {
                for_tiles(builder, operands.columns(), column_tile,
                          [&](const Affine& column, int64_t columns, const Affine& n) {
                            kernel.emit({row, rows, column, columns}, m * steps + n);
                          });
              });
  });
}

void emit_hoisted_matmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                         int64_t row_tiles, int64_t column_tiles) {
  builder.scope([&] {
    const HoistPlan plan = plan_hoist(builder.limits(), operands, row_tiles, column_tiles);
    HoistedMatmul kernel(builder, operands, epilogue, plan);
    const int64_t steps = ceiling(operands.columns(), plan.block_columns);
    for_tiles(builder, operands.rows(), plan.block_rows,
              [&](const Affine& row, int64_t rows, const Affine& m) {
                if (kernel.holds_depth()) kernel.load_rows(row, rows, 0, operands.depth(), m);
                for_tiles(builder, operands.columns(), plan.block_columns,
                          [&](const Affine& column, int64_t columns, const Affine& n) {
                            const OutputTile block{row, rows, column, columns};
                            const Affine turn = m * steps + n;
                            if (kernel.holds_depth()) {
                              kernel.emit(block, m, turn);
                            } else {
                              kernel.emit_panels(block, turn);
                            }
                          });
              });
  });
}

}  // namespace neuron_sim
