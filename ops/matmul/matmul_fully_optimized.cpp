// The last step of the tutorial's ladder: blocks in all three dimensions.

#include <algorithm>

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/matmul/matmul_plans.h"

namespace neuron_sim {
namespace {

// The tutorial's blocks, in tiles.
constexpr int64_t kRowTiles = 16;
constexpr int64_t kColumnTiles = 2;
constexpr int64_t kDepthTiles = 8;
constexpr int kBlockRing = 2;

/// Sizes of the blocks, and how many rows of the output accumulate in SBUF together.
struct BlockPlan {
  int64_t rows, columns, depth;
  int64_t group_rows;
};

/// Bytes per partition of everything but the sums.
int64_t block_bytes(const Limits& limits, const MatmulOperands& operands, const BlockPlan& plan) {
  const Dtype dtype = operands.a.dtype();
  // Rings are rounded up to allocation steps; 1 KiB covers all of them.
  return kBlockRing * (blocked_bytes(limits, plan.depth, plan.rows, dtype) +
                       blocked_bytes(limits, plan.depth, plan.columns, dtype)) +
         ContractionLoader::staging_bytes(operands.a_by_depth(), plan.depth) +
         ContractionLoader::staging_bytes(operands.b, plan.depth) +
         kDoubleBuffer * plan.columns * itemsize(operands.out.dtype()) + 1024;
}

/// The tutorial's blocks, with fewer rows when operands of 4 bytes leave no room for the sums of a
/// block; then as many blocks of rows as fit share each block of b.
BlockPlan plan_blocks(const Limits& limits, const MatmulOperands& operands) {
  const int64_t tile = limits.partitions;
  BlockPlan plan{};
  plan.columns = std::min(kColumnTiles * product_columns(limits), operands.columns());
  plan.depth = std::min(kDepthTiles * tile, ceiling(operands.depth(), tile) * tile);
  const int64_t sum_bytes = plan.columns * itemsize(Dtype::kFloat32);  // per row tile
  for (int64_t tiles = kRowTiles; tiles > 0; tiles /= 2) {
    plan.rows = std::min(tiles * tile, operands.rows());
    const int64_t room = limits.sbuf_usable.count - block_bytes(limits, operands, plan);
    const int64_t fitting = room / sum_bytes * tile;  // rows
    if (fitting < plan.rows && tiles > 1) continue;
    plan.group_rows =
        fitting >= operands.rows() ? operands.rows() : fitting / plan.rows * plan.rows;
    return plan;
  }
  return plan;
}

class FullyOptimizedMatmul {
 public:
  FullyOptimizedMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                       const BlockPlan& plan)
      : builder_(builder), operands_(operands), epilogue_(epilogue), plan_(plan) {
    const Limits& limits = builder.limits();
    const Dtype dtype = operands.a.dtype();
    row_tile_ = limits.partitions;
    column_tile_ = product_columns(limits);
    a_ = blocked_tile(builder, "a_block", plan.depth, plan.rows, dtype, kBlockRing);
    b_ = blocked_tile(builder, "b_block", plan.depth, plan.columns, dtype, kBlockRing);
    // Scalar packs the results: on its queue, the loads of the next block would wait for them.
    loaders_.emplace(builder, operands, plan.depth, kLoadQueue);
    epilogue_.copy_engine = EngineKind::kScalar;
    sums_ = builder.sbuf("sums", {row_tile_, ceiling(plan.group_rows, row_tile_), plan.columns},
                         Dtype::kFloat32);
    packed_ = builder.sbuf("result_packed", {row_tile_, plan.columns}, operands.out.dtype(),
                           kDoubleBuffer);
    psum_ = builder.psum("product", {row_tile_, column_tile_}, Dtype::kFloat32, kResultRing);
  }

  /// All of K for a window of the output; `turn` counts windows.
  void emit(const OutputTile& window, const Affine& turn) {
    const int64_t depth = operands_.depth();
    const int64_t full = depth / plan_.depth, rest = depth % plan_.depth;
    const int64_t steps = ceiling(depth, plan_.depth);
    if (full > 0) add_depth_block(window, 0, plan_.depth, turn * steps, false);
    builder_.loop(full > 0 ? full - 1 : 0, [&](const Affine& index) {
      add_depth_block(window, (index + 1) * plan_.depth, plan_.depth, turn * steps + index + 1,
                      true);
    });
    if (rest > 0) add_depth_block(window, full * plan_.depth, rest, turn * steps + full, full > 0);
    store(window, turn);
  }

 private:
  /// sums += (= without `add`) a[rows of the window, k block] @ b[k block, columns of the window].
  void add_depth_block(const OutputTile& window, const Affine& k, int64_t depth, const Affine& turn,
                       bool add) {
    const BlockedMatrix b{b_.turn(turn), depth, window.columns};
    loaders_->load_b(operands_.b.slice(0, k, depth).slice(1, window.column, window.columns), b,
                     turn);
    const int64_t blocks = ceiling(plan_.group_rows, plan_.rows);
    for_tiles(builder_, window.rows, plan_.rows,
              [&](const Affine& row, int64_t rows, const Affine& block) {
                const Affine a_turn = turn * blocks + block;
                const BlockedMatrix a{a_.turn(a_turn), depth, rows};
                const View source =
                    operands_.a_by_depth().slice(0, k, depth).slice(1, window.row + row, rows);
                loaders_->load_a(source, a, a_turn);
                multiply_blocks(a, b, block, a_turn, add);
              });
  }

  void multiply_blocks(const BlockedMatrix& a, const BlockedMatrix& b, const Affine& block,
                       const Affine& turn, bool add) {
    const int64_t row_tiles = ceiling(plan_.rows, row_tile_);
    const int64_t column_tiles = ceiling(plan_.columns, column_tile_);
    for_tiles(builder_, b.columns, column_tile_,
              [&](const Affine& column, int64_t columns, const Affine& n) {
                for_tiles(builder_, a.columns, row_tile_,
                          [&](const Affine& row, int64_t rows, const Affine& m) {
                            const Affine tile = (turn * column_tiles + n) * row_tiles + m;
                            const View psum =
                                psum_.turn(tile).slice(0, 0, rows).slice(1, 0, columns);
                            multiply(builder_, psum, {a, row, rows}, {b, column, columns});
                            const View sum = sums_.select(1, block * row_tiles + m)
                                                 .slice(0, 0, rows)
                                                 .slice(1, column, columns);
                            if (add) {
                              builder_.emit(TensorTensor{.dst = sum, .data1 = sum, .data2 = psum});
                            } else {
                              builder_.emit(TensorCopy{
                                  .dst = sum, .src = psum, .engine = EngineKind::kVector});
                            }
                          });
              });
  }

  void store(const OutputTile& window, const Affine& turn) {
    const int64_t tiles = ceiling(plan_.group_rows, row_tile_);
    for_tiles(builder_, window.rows, row_tile_,
              [&](const Affine& row, int64_t rows, const Affine& m) {
                const View sum = sums_.select(1, m).slice(0, 0, rows).slice(1, 0, window.columns);
                store_result(builder_, sum, packed_.turn(turn * tiles + m), operands_.out,
                             {window.row + row, rows, window.column, window.columns}, epilogue_);
              });
  }

  Builder& builder_;
  const MatmulOperands& operands_;
  Epilogue epilogue_;
  const BlockPlan plan_;
  int64_t row_tile_ = 0, column_tile_ = 0;
  View a_, b_, sums_, packed_, psum_;
  std::optional<OperandLoaders> loaders_;
};

}  // namespace

void emit_fully_optimized_matmul(Builder& builder, const MatmulOperands& operands,
                                 const Epilogue& epilogue) {
  builder.scope([&] {
    const BlockPlan plan = plan_blocks(builder.limits(), operands);
    FullyOptimizedMatmul kernel(builder, operands, epilogue, plan);
    const int64_t steps = ceiling(operands.columns(), plan.columns);
    for_tiles(builder, operands.rows(), plan.group_rows,
              [&](const Affine& row, int64_t rows, const Affine& group) {
                for_tiles(builder, operands.columns(), plan.columns,
                          [&](const Affine& column, int64_t columns, const Affine& n) {
                            kernel.emit({row, rows, column, columns}, group * steps + n);
                          });
              });
  });
}

}  // namespace neuron_sim
