#include "ops/conv2d/weight_gradient_tiles.h"

#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {

PixelOperands::PixelOperands(Builder& builder, const WeightGradientPlan& plan, const View& gradient,
                             const View& input)
    : builder_(builder),
      plan_(plan),
      gradient_(gradient),
      input_(input),
      transposer_(builder, input.dtype()) {
  const Dtype dtype = input.dtype();
  const int64_t partitions = builder.limits().partitions;
  const auto pixels = [&](const char* label, int64_t rows, int64_t columns) {
    std::vector<int64_t> shape{partitions, plan.images, rows, columns};
    if (plan.swapped) std::swap(shape[2], shape[3]);
    return in_memory_order(builder.sbuf(label, shape, dtype, 2));
  };
  const int64_t columns = plan.input_columns(plan.columns);
  images_ = pixels("image", plan.input_rows(plan.rows), plan.image_columns(plan.columns));
  gradients_ = pixels("gradient_tile", plan.rows, plan.columns);
  moving_ = builder.sbuf(
      "pixels", {partitions, plan.pass_tap_rows(builder.limits()), columns, plan.block_channels},
      dtype, 2);
  stationary_ =
      builder.sbuf("gradient_pixels", {partitions, plan.columns, plan.block_filters}, dtype, 2);
  if (builder.architecture().features.exact_transpose) return;
  dense_ = builder.sbuf("dense_rows", {partitions, columns, plan.partitions()}, dtype);
}

View PixelOperands::in_memory_order(const View& view) const {
  return plan_.swapped ? view.permute({0, 1, 3, 2}) : view;
}

View PixelOperands::image_tile(const ChannelBlock& block, const PixelTile& tile) const {
  return images_.turn(tile.index)
      .slice(0, 0, block.channels)
      .slice(1, 0, tile.images)
      .slice(2, 0, plan_.input_rows(tile.rows))
      .slice(3, 0, plan_.image_columns(tile.columns));
}

View PixelOperands::gradient_tile(const ChannelBlock& block, const PixelTile& tile) const {
  return gradients_.turn(tile.index)
      .slice(0, 0, block.filters)
      .slice(1, 0, tile.images)
      .slice(2, 0, tile.rows)
      .slice(3, 0, tile.columns);
}

void PixelOperands::load_tiles(const ChannelBlock& block, const PixelTile& tile) {
  load(builder_, in_memory_order(gradient_tile(block, tile)),
       in_memory_order(gradient_.slice(0, block.first_filter, block.filters)
                           .slice(1, tile.image, tile.images)
                           .slice(2, tile.row, tile.rows)
                           .slice(3, tile.column, tile.columns)),
       EngineKind::kScalar);
  const Conv2dSizes& sizes = plan_.sizes;
  const Conv2dGeometry& geometry = sizes.geometry;
  std::array<ClippedAxis, 2> axes{clip_axis(tile.row * geometry.stride[0] - geometry.padding[0],
                                            plan_.input_rows(tile.rows), sizes.input[0]),
                                  clip_axis(tile.column * geometry.stride[1] - geometry.padding[1],
                                            plan_.image_columns(tile.columns), sizes.input[1])};
  if (plan_.swapped) std::swap(axes[0], axes[1]);
  const View image = in_memory_order(image_tile(block, tile));
  clear_borders(builder_, image, axes);
  load_inside(
      builder_, image,
      in_memory_order(
          input_.slice(0, block.first_channel, block.channels).slice(1, tile.image, tile.images)),
      axes, kLoadQueue);
}

void PixelOperands::prepare(const ChannelBlock& block, const PixelTile& tile, const TapRows& taps) {
  load_tiles(block, tile);
  const Conv2dGeometry& geometry = plan_.sizes.geometry;
  const bool both = builder_.architecture().features.scalar_tensor_ops;
  const EngineKind second = both ? EngineKind::kScalar : EngineKind::kVector;
  const int64_t pixels = tile.partitions(), columns = plan_.input_columns(tile.columns);
  const int64_t calls = ceiling(plan_.input_columns(plan_.columns), transposer_.group()) + 1;
  const Affine turn = tile.index * (calls * (taps.count + 1));
  transpose(stationary_.turn(tile.index)
                .slice(0, 0, pixels)
                .slice(1, 0, tile.columns)
                .slice(2, 0, block.filters),
            gradient_tile(block, tile), turn, second);
  const View image = image_tile(block, tile);
  // The only column of a kernel reads every stride-th column of the input.
  const int64_t step = plan_.sizes.kernel[1] == 1 ? geometry.stride[1] : 1;
  for (int64_t i = 0; i < taps.count; ++i) {
    transpose(moving_.turn(tile.index)
                  .slice(0, 0, pixels)
                  .select(1, i)
                  .slice(1, 0, columns)
                  .slice(2, 0, block.channels),
              image.slice(2, (taps.first + i) * geometry.dilation[0], tile.rows, geometry.stride[0])
                  .slice(3, 0, columns, step),
              turn + (i + 1) * calls, i % 2 == 0 ? EngineKind::kVector : second);
  }
}

void PixelOperands::transpose(const View& target, const View& source, const Affine& turn,
                              EngineKind engine) {
  const int64_t channels = source.size(0), pixels = target.size(0), columns = target.size(1);
  View dense;
  if (dense_.present()) {  // the Vector engine transposes plain matrices
    dense = dense_.slice(0, 0, channels).slice(1, 0, columns).slice(2, 0, pixels);
    builder_.emit(TensorCopy{.dst = dense.split(2, source.size(1), source.size(2)),
                             .src = source.permute({0, 3, 1, 2}),
                             .engine = EngineKind::kGpSimd});
  }
  for_tiles(builder_, columns, transposer_.group(),
            [&](const Affine& first, int64_t count, const Affine& call) {
              transposer_.transpose(
                  target.slice(1, first, count),
                  [&](int64_t j) {
                    return dense.present() ? dense.select(1, first + j)
                                           : source.select(3, first + j);
                  },
                  turn + call, engine);
            });
}

View PixelOperands::stationary(const ChannelBlock& block, const PixelTile& tile,
                               const Affine& column) const {
  return stationary_.turn(tile.index)
      .slice(0, 0, tile.partitions())
      .select(1, column)
      .slice(1, 0, block.filters);
}

View PixelOperands::moving(const ChannelBlock& block, const PixelTile& tile, const Affine& column,
                           const TapBank& bank, const TapRows& taps) const {
  const int64_t dilation = plan_.sizes.geometry.dilation[1];
  return moving_.turn(tile.index)
      .slice(0, 0, tile.partitions())
      .slice(1, bank.row - taps.first, bank.rows)
      .slice(2, column * plan_.column_step() + bank.column * dilation, bank.columns, dilation)
      .slice(3, 0, block.channels);
}

}  // namespace neuron_sim
