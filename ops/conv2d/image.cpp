// The images of a convolution: borders and loads.

#include <algorithm>
#include <vector>

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "ops/blocks/tiles.h"
#include "ops/conv2d/tiles.h"

namespace neuron_sim {
namespace {

/// Positions of a tile's axis: `lead` zeros, `count` elements from `start` on, `trail` zeros.
struct Clip {
  Affine start;
  int64_t lead = 0, count = 0, trail = 0;
};

/// Which of the positions origin, origin + step, ... (`size` of them) lie in [0, extent). An origin
/// that depends on a loop belongs to a run without padding (see cut).
Clip clip(const Affine& origin, int64_t step, int64_t size, int64_t extent) {
  if (!origin.is_constant()) return {origin, 0, size, 0};
  const int64_t first = origin.constant();
  const int64_t lead = std::clamp<int64_t>(first < 0 ? ceiling(-first, step) : 0, 0, size);
  const int64_t end =
      std::clamp<int64_t>(extent > first ? ceiling(extent - first, step) : 0, lead, size);
  return {first + lead * step, lead, end - lead, size - end};
}

/// Rows of a tile that kernel row `row` of a packed block, or the whole tile, reads.
Clip clip_rows(const Conv2dPlan& plan, const Conv2dBand& band, int64_t row) {
  const Conv2dAxis& axis = plan.shape.rows;
  const Affine origin = band.row * axis.stride - axis.padding;
  if (plan.packed) {
    return clip(origin + row * axis.dilation, axis.stride, band.rows, axis.extent);
  }
  return clip(origin, 1, axis.inputs(band.rows), axis.extent);
}

Clip clip_columns(const Conv2dPlan& plan, const Conv2dBand& band) {
  const Conv2dAxis& axis = plan.shape.columns;
  const int64_t size = plan.is_wide() ? plan.tile_columns() : axis.inputs(band.columns);
  return clip(band.column * axis.stride - axis.padding, 1, size, axis.extent);
}

/// The rows around those that every kernel row of the tile fills.
Clip clip_all_rows(const Conv2dPlan& plan, const Conv2dBand& band) {
  Clip all = clip_rows(plan, band, 0);
  if (!plan.packed) return all;
  const Clip last = clip_rows(plan, band, plan.shape.rows.kernel - 1);
  const int64_t size = all.lead + all.count + all.trail;
  all.trail = last.trail;
  all.lead = std::min(all.lead, size);
  all.count = std::max<int64_t>(0, size - all.lead - all.trail);
  all.trail = size - all.lead - all.count;
  return all;
}

/// Zeroes [start, start + count) of dimension `axis` of an image tile.
void clear(Builder& builder, const View& tile, int axis, int64_t start, int64_t count) {
  if (count > 0) builder.emit(Memset{.dst = tile.slice(axis, start, count)});
}

void clear_rows(Builder& builder, const View& tile, const Clip& rows) {
  clear(builder, tile, 3, 0, rows.lead);
  clear(builder, tile, 3, rows.lead + rows.count, rows.trail);
}

void clear_columns(Builder& builder, const View& tile, const Clip& columns) {
  clear(builder, tile, 4, 0, columns.lead);
  clear(builder, tile, 4, columns.lead + columns.count, columns.trail);
}

/// Clears `count` rows by DMA.
void load_zeros(Builder& builder, const View& zeros, const View& tile, int64_t start,
                int64_t count) {
  if (count == 0) return;
  const View rows = tile.slice(3, start, count);
  View source = zeros;
  for (int i = 0; i < 4; ++i) source = source.broadcast(i, rows.size(i));
  load(builder, rows, source);
}

Conv2dBand whole_image(const Conv2dPlan& plan) {
  Conv2dBand band;
  band.images = plan.band_images;
  band.rows = plan.shape.rows.convolved();
  band.columns = plan.shape.columns.convolved();
  return band;
}

/// The rectangle of an image tile's block that a load fills, [128, images, rows, columns].
View loaded_part(const View& block, const Conv2dBand& band, const Clip& rows, const Clip& columns) {
  return block.slice(1, 0, band.images)
      .slice(2, rows.lead, rows.count)
      .slice(3, columns.lead, columns.count);
}

void load_packed(Builder& builder, const Conv2dPlan& plan, const View& source, const View& tile,
                 const Conv2dBand& band, const Clip& columns) {
  const int64_t channels = plan.channels;
  for (int64_t row = 0; row < plan.shape.rows.kernel; ++row) {
    const Clip rows = clip_rows(plan, band, row);
    if (rows.count == 0) continue;
    const View block = tile.select(1, row / plan.block_kernel_rows)
                           .slice(0, row % plan.block_kernel_rows * channels, channels);
    load(builder, loaded_part(block, band, rows, columns),
         source.slice(2, rows.start, rows.count, plan.shape.rows.stride));
  }
}

}  // namespace

View allocate_images(Builder& builder, const Conv2dPlan& plan) {
  return builder.sbuf("image",
                      {builder.limits().partitions, plan.blocks, plan.band_images, plan.tile_rows(),
                       plan.tile_columns()},
                      plan.shape.dtype, static_cast<int>(plan.image_ring));
}

void clear_borders(Builder& builder, const Conv2dPlan& plan, const View& images) {
  if (!plan.is_wide()) return;  // each load clears its own
  const Conv2dBand band = whole_image(plan);
  const Clip columns = clip_columns(plan, band);
  builder.loop(plan.image_ring, [&](const Affine& index) {
    if (plan.is_whole()) clear_rows(builder, images.turn(index), clip_all_rows(plan, band));
    clear_columns(builder, images.turn(index), columns);
  });
}

View allocate_dense(Builder& builder, const Conv2dPlan& plan) {
  if (!plan.spreads_rows()) return View();
  return builder.sbuf("dense image",
                      {std::min(plan.block_channels, builder.limits().partitions), plan.band_images,
                       plan.tile_rows(), plan.shape.columns.extent},
                      plan.shape.dtype, kDenseRing);
}

View zero_row(Builder& builder, const Conv2dPlan& plan) {
  if (plan.is_whole() || plan.shape.rows.padding == 0) return View();
  const int64_t bytes = plan.tile_columns() * itemsize(plan.shape.dtype);
  return builder.constant("zeros", {1, 1, 1, 1, plan.tile_columns()}, plan.shape.dtype,
                          std::vector<std::byte>(static_cast<size_t>(bytes)));
}

void load_band(Builder& builder, const Conv2dPlan& plan, const Conv2dTensors& tensors,
               const View& tile, const Conv2dBand& band) {
  const Clip columns = clip_columns(plan, band);
  const Clip all_rows = clip_all_rows(plan, band);
  const int64_t size = all_rows.lead + all_rows.count + all_rows.trail;
  const View used = tile.slice(3, 0, size);
  if (!plan.is_whole()) {
    load_zeros(builder, tensors.zeros, used, 0, all_rows.lead);
    load_zeros(builder, tensors.zeros, used, all_rows.lead + all_rows.count, all_rows.trail);
  }
  if (!plan.is_wide()) clear_columns(builder, used, columns);
  if (columns.count == 0) return;
  const View source =
      tensors.input.slice(1, band.image, band.images).slice(3, columns.start, columns.count);
  if (plan.packed) return load_packed(builder, plan, source, tile, band, columns);
  if (all_rows.count == 0) return;
  for_tiles(builder, plan.channels, plan.block_channels,
            [&](const Affine& start, int64_t depth, const Affine& index) {
              const View target =
                  loaded_part(tile.select(1, index).slice(0, 0, depth), band, all_rows, columns);
              const View part =
                  source.slice(0, start, depth).slice(2, all_rows.start, all_rows.count);
              if (!plan.spreads_rows()) return load(builder, target, part);
              const View dense = tensors.dense.turn(band.index * plan.blocks + index)
                                     .slice(0, 0, depth)
                                     .slice(1, 0, band.images)
                                     .slice(2, 0, all_rows.count);
              load(builder, dense, part);
              // GpSimd has nothing else to do while images stream by.
              builder.emit(TensorCopy{.dst = target, .src = dense, .engine = EngineKind::kGpSimd});
            });
}

}  // namespace neuron_sim
