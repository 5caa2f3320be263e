// The plan of reductions whose fastest dimension is reduced; see reduction.h.

#include "device/isa/movement/memset.h"
#include "device/numerics/reduction.h"
#include "ops/blocks/block_sums.h"
#include "ops/blocks/tiles.h"
#include "ops/reduction/reduction_dimensions.h"

namespace neuron_sim {
namespace {

constexpr size_t kFreeDimensions = 3;

class RowReduction {
 public:
  explicit RowReduction(ReductionKernel& kernel)
      : kernel_(kernel),
        builder_(kernel.builder),
        rows_(largest(kernel.dimensions.kept)),
        partitions_(builder_.limits().partitions) {
    choose_columns();
    loader_.emplace(builder_, kernel.prologue(), kernel.operands, partitions_, elements_);
    sum_ = builder_.sbuf("reduced", {partitions_, 1}, Dtype::kFloat32, 2);
    partial_ = builder_.sbuf("partial", {partitions_, 1}, Dtype::kFloat32, 2);
    block_sums_.emplace(builder_, 1, elements_);
    kernel.prepare_finish(partitions_, 1);
  }

  void emit() {
    const Starts starts(kernel_.operands.size() + 1, 0);
    const SharedDimension& rows = kernel_.dimensions.kept[rows_];
    loop_over(builder_, kernel_.dimensions.kept, {rows_}, starts, [&](const Starts& outer) {
      for_tiles(builder_, rows.size, partitions_,
                [&](const Affine& row, int64_t count, const Affine& turn) {
                  emit_rows(moved(outer, rows, row), count, turn);
                });
    });
  }

 private:
  /// The reduced dimensions of a tile: as many of the fastest as fit, with the first of them cut.
  void choose_columns() {
    const std::vector<SharedDimension>& reduced = kernel_.dimensions.reduced;
    elements_ = kernel_.tile_elements(kernel_.dimensions.reduced_elements());
    first_free_ = reduced.size() - 1;
    inner_ = 1;
    while (first_free_ > 0 && reduced.size() - first_free_ < kFreeDimensions &&
           inner_ * reduced[first_free_].size * 2 <= elements_) {
      inner_ *= reduced[first_free_].size;
      --first_free_;
    }
    step_ = std::max<int64_t>(1, std::min(elements_ / inner_, reduced[first_free_].size));
    pieces_ = ceiling(kernel_.dimensions.reduced_elements(), step_ * inner_);
  }

  void emit_rows(const Starts& starts, int64_t rows, const Affine& turn) {
    const View sum = sum_.turn(turn).slice(0, 0, rows);
    const std::vector<SharedDimension>& reduced = kernel_.dimensions.reduced;
    const bool single = pieces_ == 1;
    if (!single) {
      builder_.emit(Memset{.dst = sum, .value = reduction_identity(kernel_.options.op)});
    }
    std::vector<size_t> free;
    for (size_t i = first_free_; i < reduced.size(); ++i) free.push_back(i);
    loop_over(builder_, reduced, free, starts, [&](const Starts& position) {
      for_tiles(
          builder_, reduced[first_free_].size, step_,
          [&](const Affine& column, int64_t count, const Affine& index) {
            const Starts piece = moved(position, reduced[first_free_], column);
            const View value = loader_->load(piece_of(piece, rows, count), index);
            const View partial = single ? sum : partial_.turn(index).slice(0, 0, rows);
            block_sums_->emit(
                {.dst = partial, .data = value, .op = kernel_.options.op, .axes = value.rank() - 1},
                index);
            if (!single) kernel_.combine(sum, partial);
          });
    });
    kernel_.finish(sum, {rows, 1}, {kernel_.dimensions.kept[rows_].strides.back(), 0},
                   starts.back());
  }

  TilePiece piece_of(const Starts& starts, int64_t rows, int64_t columns) const {
    const std::vector<SharedDimension>& reduced = kernel_.dimensions.reduced;
    TilePiece piece{{rows, columns}, {}, starts};
    for (size_t i = first_free_ + 1; i < reduced.size(); ++i)
      piece.sizes.push_back(reduced[i].size);
    for (size_t t = 0; t < kernel_.operands.size(); ++t) {
      std::vector<int64_t> steps{kernel_.dimensions.kept[rows_].strides[t]};
      for (size_t i = first_free_; i < reduced.size(); ++i) steps.push_back(reduced[i].strides[t]);
      piece.steps.push_back(std::move(steps));
    }
    return piece;
  }

  ReductionKernel& kernel_;
  Builder& builder_;
  const size_t rows_;  ///< the kept dimension on partitions
  const int64_t partitions_;
  int64_t elements_ = 1, inner_ = 1, step_ = 1, pieces_ = 1;
  size_t first_free_ = 0;
  std::optional<TileLoader> loader_;
  std::optional<BlockSums> block_sums_;
  View sum_, partial_;
};

}  // namespace

void emit_row_reduction(ReductionKernel& kernel) { RowReduction(kernel).emit(); }

}  // namespace neuron_sim
