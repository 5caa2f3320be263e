// The max pooling of a convolution, on outputs that are staged in SBUF.

#include <algorithm>

#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/reduction/tensor_reduce.h"
#include "ops/conv2d/tiles.h"

namespace neuron_sim {
namespace {

// Small windows: maxima of pairs of rows, then columns, take long contiguous operands.
constexpr int64_t kLargestPairwisePool = 4;
// More pairs than this become a loop, so that the program stays small.
constexpr int64_t kUnrolledPairs = 8;

}  // namespace

Conv2dPooling::Conv2dPooling(Builder& builder, const Conv2dPlan& plan)
    : builder_(builder), plan_(plan) {
  if (!plan.shape.is_pooled()) return;
  const int64_t rows = plan.band_images * plan.band_outputs, columns = plan.panel_outputs;
  const Dtype dtype = plan.shape.output_dtypes.front();
  half_ = builder.sbuf("row maxima", {plan.filter_block, rows, plan.panel_columns()}, dtype, 2);
  pooled_ = builder.sbuf("pooled", {plan.filter_block, rows, columns}, dtype, 2);
  if (plan.window_parts == 1) return;
  maxima_ = builder.sbuf("maxima", {plan.filter_block, plan.filter_blocks(), 1, columns}, dtype);
}

View Conv2dPooling::pool(const View& staged, const Conv2dBand& band, const Affine& number,
                         const Affine& index) {
  const Conv2dAxis &row_axis = plan_.shape.rows, &column_axis = plan_.shape.columns;
  const int64_t filters = staged.partitions();
  const int64_t rows = band.images * band.output_rows, columns = band.output_columns;
  const auto part = [&](const View& tile) {
    return tile.slice(0, 0, filters).slice(1, 0, rows).slice(2, 0, tile.size(2));
  };
  const View pooled = part(pooled_.turn(index)).slice(2, 0, columns);
  const bool merged = plan_.window_parts > 1;
  const View maxima =
      merged ? maxima_.select(1, number).slice(0, 0, filters).slice(2, 0, columns) : View();
  const View target = merged && band.first_part ? maxima : pooled;
  const bool tiled = row_axis.is_tiled() && column_axis.is_tiled();
  const bool small = std::max(row_axis.pool, column_axis.pool) <= kLargestPairwisePool && !merged;
  if (tiled && !small) {
    builder_.emit(TensorReduce{.dst = target,
                               .data = staged.split(1, rows, plan_.window_rows())
                                           .split(3, columns, column_axis.pool)
                                           .permute({0, 1, 3, 2, 4}),
                               .op = AluOp::kMaximum,
                               .axes = 2});
  } else {
    by_pairs(staged, part(half_.turn(index)).slice(2, 0, staged.size(2)), target, band);
  }
  if (merged && !band.first_part) {
    builder_.emit(
        TensorTensor{.dst = maxima, .data1 = maxima, .data2 = pooled, .op = AluOp::kMaximum});
  }
  return merged ? maxima : pooled;
}

/// Row maxima, then column maxima of those. Windows may overlap or leave gaps.
void Conv2dPooling::by_pairs(const View& staged, const View& half, const View& target,
                             const Conv2dBand& band) {
  const Conv2dAxis &row_axis = plan_.shape.rows, &column_axis = plan_.shape.columns;
  const int64_t window = plan_.window_rows(), step = row_axis.pool_stride;
  const bool by_columns = column_axis.pool > 1;
  if (window > 1 || !by_columns) {
    const View& rows = by_columns ? half : target;
    if (band.images == 1 || row_axis.is_tiled()) {
      maxima_of(staged, 1, window, band.images * band.output_rows, step, rows);
    } else {
      maxima_of(staged.split(1, band.images, band.rows), 2, window, band.output_rows, step, rows);
    }
  }
  if (!by_columns) return;
  maxima_of(window > 1 ? half : staged, 2, column_axis.pool, band.output_columns,
            column_axis.pool_stride, target);
}

/// target = the maxima of `count` windows of dimension `axis`, which start every `step` elements.
void Conv2dPooling::maxima_of(const View& source, int axis, int64_t window, int64_t count,
                              int64_t step, const View& target) {
  const auto element = [&](const Affine& index) { return source.slice(axis, index, count, step); };
  const auto include = [&](const View& others, const Affine& index) {
    builder_.emit(TensorTensor{
        .dst = target, .data1 = others, .data2 = element(index), .op = AluOp::kMaximum});
  };
  if (window == 1) return builder_.emit(TensorCopy{.dst = target, .src = element(0)});
  include(element(0), 1);
  if (window > kUnrolledPairs) {
    return builder_.loop(window - 2, [&](const Affine& i) { include(target, i + 2); });
  }
  for (int64_t i = 2; i < window; ++i) include(target, i);
}

}  // namespace neuron_sim
