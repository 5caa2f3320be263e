// The plans of reductions whose fastest dimension is kept; see reduction.h.

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/numerics/reduction.h"
#include "ops/blocks/block_sums.h"
#include "ops/blocks/tiles.h"
#include "ops/blocks/transposer.h"
#include "ops/reduction/reduction_dimensions.h"

namespace neuron_sim {
namespace {

constexpr int64_t kRowsOfOnePass = 32;

/// Steps of every operand for a tile [P, F] of two dimensions.
TilePiece piece_of(const ReductionKernel& kernel, const Starts& starts, int64_t rows,
                   int64_t columns, const std::vector<int64_t>& row_steps,
                   const SharedDimension& column) {
  TilePiece piece{{rows, columns}, {}, starts};
  for (size_t t = 0; t < kernel.operands.size(); ++t) {
    piece.steps.push_back({row_steps[t], column.strides[t]});
  }
  return piece;
}

/// Reduced rows on partitions, columns free.
class TransposedColumns {
 public:
  explicit TransposedColumns(ReductionKernel& kernel)
      : kernel_(kernel),
        builder_(kernel.builder),
        partitions_(builder_.limits().partitions),
        rows_(kernel.dimensions.reduced[largest(kernel.dimensions.reduced)]),
        columns_(kernel.dimensions.kept.back()),
        width_(kernel.tile_elements(std::min<int64_t>(columns_.size, 1024))),
        loader_(builder_, kernel.prologue(), kernel.operands, partitions_, width_),
        sum_(builder_.sbuf("sums", {partitions_, width_}, Dtype::kFloat32, 2)),
        turned_(builder_.sbuf("turned", {partitions_, 1, partitions_}, Dtype::kFloat32, 2)),
        reduced_(builder_.sbuf("reduced", {partitions_, 1}, Dtype::kFloat32, 2)),
        block_sums_(builder_, 1, partitions_),
        transposer_(builder_, Dtype::kFloat32) {
    kernel.prepare_finish(partitions_, 1);
  }

  void emit() {
    const Starts starts(kernel_.operands.size() + 1, 0);
    const std::vector<SharedDimension>& kept = kernel_.dimensions.kept;
    loop_over(builder_, kept, {kept.size() - 1}, starts, [&](const Starts& outer) {
      for_tiles(builder_, columns_.size, width_,
                [&](const Affine& column, int64_t count, const Affine& turn) {
                  emit_columns(moved(outer, columns_, column), count, turn);
                });
    });
  }

 private:
  void emit_columns(const Starts& starts, int64_t count, const Affine& turn) {
    const int64_t used = std::min(partitions_, rows_.size);
    const View sums = sum_.turn(turn).slice(0, 0, used).slice(1, 0, count);
    builder_.emit(Memset{.dst = sums, .value = reduction_identity(kernel_.options.op)});
    const std::vector<SharedDimension>& reduced = kernel_.dimensions.reduced;
    loop_over(builder_, reduced, {largest(reduced)}, starts, [&](const Starts& position) {
      for_tiles(builder_, rows_.size, partitions_,
                [&](const Affine& row, int64_t rows, const Affine& index) {
                  const Starts first = moved(position, rows_, row);
                  const View value = loader_.load(
                      piece_of(kernel_, first, rows, count, rows_.strides, columns_), index);
                  kernel_.combine(sums.slice(0, 0, rows), value);
                });
    });
    for_tiles(builder_, count, partitions_,
              [&](const Affine& column, int64_t width, const Affine& index) {
                finish_block(sums.slice(1, column, width), moved(starts, columns_, column).back(),
                             index);
              });
  }

  void finish_block(const View& sums, const Affine& start, const Affine& turn) {
    const int64_t width = sums.size(1);
    const View turned = turned_.turn(turn).slice(0, 0, width).slice(2, 0, sums.partitions());
    transposer_.transpose(
        turned, [&](int64_t) { return sums; }, turn);
    const View reduced = reduced_.turn(turn).slice(0, 0, width);
    block_sums_.emit(
        {.dst = reduced, .data = turned, .op = kernel_.options.op, .axes = turned.rank() - 1},
        turn);
    kernel_.finish(reduced, {width, 1}, {columns_.strides.back(), 0}, start);
  }

  ReductionKernel& kernel_;
  Builder& builder_;
  const int64_t partitions_;
  const SharedDimension rows_, columns_;
  const int64_t width_;
  TileLoader loader_;
  View sum_, turned_, reduced_;
  BlockSums block_sums_;
  Transposer transposer_;
};

/// Columns on all partitions, as [P, F]; rows are combined one by one.
class SpreadColumns {
 public:
  explicit SpreadColumns(ReductionKernel& kernel)
      : kernel_(kernel),
        builder_(kernel.builder),
        partitions_(builder_.limits().partitions),
        columns_(kernel.dimensions.kept.back()),
        width_(
            kernel.tile_elements(std::clamp<int64_t>(ceiling(columns_.size, partitions_), 1, 1024),
                                 kernel.epilogue_bytes())),
        loader_(builder_, kernel.prologue(), kernel.operands, partitions_, width_),
        sum_(builder_.sbuf("sums", {partitions_, width_}, Dtype::kFloat32, 2)) {
    kernel.prepare_finish(partitions_, width_);
  }

  void emit() {
    const Starts starts(kernel_.operands.size() + 1, 0);
    const std::vector<SharedDimension>& kept = kernel_.dimensions.kept;
    const int64_t block = partitions_ * width_, full = columns_.size / block * block;
    const int64_t rest = columns_.size - full, rows = rest / width_;
    loop_over(builder_, kept, {kept.size() - 1}, starts, [&](const Starts& outer) {
      builder_.loop(full / block, [&](const Affine& index) {
        emit_block(moved(outer, columns_, index * block), partitions_, width_, index);
      });
      if (rows > 0) emit_block(moved(outer, columns_, full), rows, width_, 0);
      if (rest > rows * width_) {
        emit_block(moved(outer, columns_, full + rows * width_), 1, rest - rows * width_, 1);
      }
    });
  }

 private:
  void emit_block(const Starts& starts, int64_t rows, int64_t width, const Affine& turn) {
    const View sums = sum_.turn(turn).slice(0, 0, rows).slice(1, 0, width);
    builder_.emit(Memset{.dst = sums, .value = reduction_identity(kernel_.options.op)});
    std::vector<int64_t> steps = columns_.strides;
    for (int64_t& step : steps) step *= width_;
    const std::vector<SharedDimension>& reduced = kernel_.dimensions.reduced;
    loop_over(builder_, reduced, {reduced.size() - 1}, starts, [&](const Starts& outer) {
      builder_.loop(reduced.back().size, [&](const Affine& row) {
        const Starts first = moved(outer, reduced.back(), row);
        const View value =
            loader_.load(piece_of(kernel_, first, rows, width, steps, columns_), row);
        kernel_.combine(sums, value);
      });
    });
    kernel_.finish(sums, {rows, width}, {steps.back(), columns_.strides.back()}, starts.back());
  }
  ReductionKernel& kernel_;
  Builder& builder_;
  const int64_t partitions_;
  const SharedDimension columns_;
  const int64_t width_;
  TileLoader loader_;
  View sum_;
};

}  // namespace

void emit_column_reduction(ReductionKernel& kernel) {
  const int64_t rows = kernel.dimensions.reduced_elements();
  const int64_t columns = kernel.dimensions.kept.back().size;
  const int64_t partitions = kernel.builder.limits().partitions;
  if (rows <= kRowsOfOnePass || columns >= partitions * 64) {
    SpreadColumns(kernel).emit();
  } else {
    TransposedColumns(kernel).emit();
  }
}

}  // namespace neuron_sim
