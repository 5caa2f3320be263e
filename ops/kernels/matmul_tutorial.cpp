// The first steps of the tutorial's ladder: tiled, hoist_load and block_free_dimension.

#include "device/base/errors.h"
#include "ops/kernels/matmul_plans.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

constexpr int kTileRing = 4;  // tiles of each operand in flight while TensorE multiplies
constexpr int kOutputRing = 4;
constexpr int kResultRing = 4;  // PSUM banks that accumulate

/// Tiles of the output on their way out: a ring of PSUM banks and one of SBUF tiles.
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

/// Blocks of the output with all of K in SBUF.
class HoistedMatmul {
 public:
  HoistedMatmul(Builder& builder, const MatmulOperands& operands, const Epilogue& epilogue,
                int64_t block_rows, int64_t block_columns, int ring)
      : builder_(builder), operands_(operands), output_(builder, operands, epilogue) {
    const int64_t depth = operands.depth();
    const Dtype dtype = operands.a.dtype();
    row_tile_ = builder.limits().partitions;
    column_tile_ = product_columns(builder.limits());
    a_ = blocked_tile(builder, "a_block", depth, block_rows, dtype, ring);
    b_ = blocked_tile(builder, "b_block", depth, block_columns, dtype, ring);
    loaders_.emplace(builder, operands, depth);
  }

  /// Loads the rows of a that a row of blocks shares.
  void load_rows(const Affine& row, int64_t rows, const Affine& block) {
    const int64_t tiles = ceiling(a_.size(2), row_tile_);
    for_tiles(builder_, rows, row_tile_,
              [&](const Affine& start, int64_t count, const Affine& index) {
                loaders_->load_a(operands_.a_by_depth().slice(1, row + start, count),
                                 part(a_.turn(block), start, count), block * tiles + index);
              });
  }

  /// `turn` counts blocks of columns; `row_block` is the one that load_rows was given.
  void emit(const OutputTile& block, const Affine& row_block, const Affine& turn) {
    const int64_t tiles = ceiling(b_.size(2), column_tile_);
    for_tiles(builder_, block.columns, column_tile_,
              [&](const Affine& start, int64_t count, const Affine& index) {
                loaders_->load_b(operands_.b.slice(1, block.column + start, count),
                                 part(b_.turn(turn), start, count), turn * tiles + index);
              });
    const int64_t row_tiles = ceiling(a_.size(2), row_tile_);
    for_tiles(
        builder_, block.rows, row_tile_, [&](const Affine& row, int64_t rows, const Affine& m) {
          for_tiles(builder_, block.columns, column_tile_,
                    [&](const Affine& column, int64_t columns, const Affine& n) {
                      const Affine tile = (turn * row_tiles + m) * tiles + n;
                      multiply(builder_, output_.product(tile, rows, columns),
                               {part(a_.turn(row_block), row, rows), 0, rows},
                               {part(b_.turn(turn), column, columns), 0, columns});
                      output_.store(tile, {block.row + row, rows, block.column + column, columns});
                    });
        });
  }

 private:
  BlockedMatrix part(const View& block, const Affine& column, int64_t columns) const {
    return {block.slice(2, column, columns), operands_.depth(), columns};
  }

  Builder& builder_;
  const MatmulOperands& operands_;
  OutputTiles output_;
  int64_t row_tile_ = 0, column_tile_ = 0;
  View a_, b_;
  std::optional<OperandLoaders> loaders_;
};

/// Bytes per partition that HoistedMatmul needs.
int64_t hoisted_bytes(const Limits& limits, const MatmulOperands& operands, int64_t block_rows,
                      int64_t block_columns, int ring) {
  const int64_t depth = operands.depth();
  const Dtype dtype = operands.a.dtype();
  // Rings are rounded up to allocation steps; 1 KiB covers all of them.
  return ring * (blocked_bytes(limits, depth, block_rows, dtype) +
                 blocked_bytes(limits, depth, block_columns, dtype)) +
         ContractionLoader::staging_bytes(operands.a_by_depth(), depth) +
         ContractionLoader::staging_bytes(operands.b, depth) +
         kOutputRing * product_columns(limits) * itemsize(operands.out.dtype()) + 1024;
}

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
                         int64_t row_tiles, int64_t column_tiles, std::string_view variant) {
  const Limits& limits = builder.limits();
  const int64_t block_rows = std::min(row_tiles * limits.partitions, operands.rows());
  const int64_t block_columns =
      std::min(column_tiles * product_columns(limits), operands.columns());
  int ring = 2;
  const auto bytes = [&] {
    return hoisted_bytes(limits, operands, block_rows, block_columns, ring);
  };
  if (bytes() > limits.sbuf_usable.count) ring = 1;
  if (bytes() > limits.sbuf_usable.count) {
    fail(text("matmul: variant ", variant, " keeps K = ", operands.depth(), " of ", block_rows,
              " rows of a and ", block_columns, " columns of b in SBUF: ", bytes(),
              " bytes per partition exceed the ", limits.sbuf_usable.count, " of ",
              builder.architecture().name,
              "; variants tiled, fully_optimized and auto take any K."),
         ErrorKind::kOutOfMemory);
  }
  builder.scope([&] {
    HoistedMatmul kernel(builder, operands, epilogue, block_rows, block_columns, ring);
    const int64_t steps = ceiling(operands.columns(), block_columns);
    for_tiles(builder, operands.rows(), block_rows,
              [&](const Affine& row, int64_t rows, const Affine& m) {
                kernel.load_rows(row, rows, m);
                for_tiles(builder, operands.columns(), block_columns,
                          [&](const Affine& column, int64_t columns, const Affine& n) {
                            kernel.emit({row, rows, column, columns}, m, m * steps + n);
                          });
              });
  });
}

}  // namespace neuron_sim
