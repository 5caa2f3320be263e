// The weights of a convolution: [Cout, Cin, KH, KW] in HBM, [contraction, filters] per tap in SBUF.

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"
#include "ops/blocks/tiles.h"
#include "ops/conv2d/group_weights.h"
#include "ops/conv2d/tiles.h"

namespace neuron_sim {
namespace {

/// Weights and images load side by side: the Scalar engine has nothing to do until they arrive. But
/// the weights of the next set of groups would wait there for the outputs of the previous one; they
/// join the images, unless those already have a load for each kernel row.
EngineKind weight_queue(const Conv2dPlan& plan) {
  return plan.weight_sets > 1 && !plan.packed ? kLoadQueue : EngineKind::kScalar;
}

/// [128, tap rows, KW, filters]: where the weights of a contraction block go.
using Target = std::function<View(const Affine& block)>;

/// target [depth, tap rows, KW, filters] = source [filters, tap rows, KW, depth], transposed on the
/// Tensor engine, several taps per PSUM bank and copy. `source` may hold integers in fp32.
void transpose_on_tensor(Builder& builder, const View& source, const View& target) {
  const int64_t filters = source.partitions(), columns = source.size(2), depth = source.size(3);
  require(filters > 0, "weights to transpose have filters");
  const int64_t bank = builder.limits().psum_bank.count / itemsize(source.dtype());
  const int64_t group = std::min(columns, bank / filters);
  builder.scope([&] {
    const View psum = builder.psum(
        "transposed weights", {builder.limits().partitions, group, filters}, source.dtype(), 2);
    const int64_t groups = ceiling(columns, group);
    builder.loop(source.size(1), [&](const Affine& row) {
      for_tiles(builder, columns, group,
                [&](const Affine& start, int64_t size, const Affine& index) {
                  const View bank_tile = psum.turn(row * groups + index).slice(0, 0, depth);
                  for (int64_t i = 0; i < size; ++i) {
                    builder.emit(NcTranspose{.dst = bank_tile.select(1, i),
                                             .data = source.select(1, row).select(1, start + i),
                                             .engine = EngineKind::kTensor});
                  }
                  builder.emit(TensorCopy{.dst = target.select(1, row).slice(1, start, size),
                                          .src = bank_tile.slice(1, 0, size)});
                });
    });
  });
}

/// Transposes on the Vector engine in small squares: bit-exact where the Tensor engine's transpose
/// is a product, which would spread one infinity over a whole row.
void transpose_on_vector(Builder& builder, const View& source, const View& target) {
  const int64_t edge = builder.limits().vector_transpose;
  const int64_t filters = source.partitions(), depth = source.size(3);
  builder.loop(source.size(1), [&](const Affine& row) {
    builder.loop(source.size(2), [&](const Affine& column) {
      const View from = source.select(1, row).select(1, column);
      const View to = target.select(1, row).select(1, column);
      for_tiles(builder, depth, edge, [&](const Affine& k, int64_t rows, const Affine&) {
        for_tiles(builder, filters, edge, [&](const Affine& m, int64_t columns, const Affine&) {
          builder.emit(NcTranspose{.dst = to.slice(0, k, rows).slice(1, m, columns),
                                   .data = from.slice(0, m, columns).slice(1, k, rows),
                                   .engine = EngineKind::kVector});
        });
      });
    });
  });
}

void transpose(Builder& builder, const View& source, const View& target) {
  if (builder.architecture().features.exact_transpose) {
    transpose_on_tensor(builder, source, target);
  } else if (source.dtype() != target.dtype()) {
    transpose_on_tensor(builder, source, target.reinterpret(Dtype::kInt16));
  } else {
    transpose_on_vector(builder, source, target);
  }
}

/// The bits of 16-bit weights as integers in fp32: those are finite, so that the Tensor engine
/// transposes them exactly on every architecture, at a fraction of the Vector engine's time.
bool transposes_integers(const Architecture& architecture, Dtype dtype) {
  return !architecture.features.exact_transpose && itemsize(dtype) == 2;
}

Dtype transposed_dtype(const Builder& builder, Dtype dtype) {
  return transposes_integers(builder.architecture(), dtype) ? Dtype::kFloat32 : dtype;
}

/// dst = src, or its bits as integers when dst is wider.
void stage(Builder& builder, const View& dst, const View& src) {
  const bool widens = dst.dtype() != src.dtype();
  builder.emit(TensorCopy{.dst = dst, .src = widens ? src.reinterpret(Dtype::kInt16) : src});
}

/// Weights in their HBM layout, [filters, channels, KH, KW]; where groups share the array, with
/// zeros for the channels of other groups. The bits are masked, so that infinities stay exact.
void load_rows(Builder& builder, const Conv2dPlan& plan, const View& source,
               const RawWeights& raw) {
  if (!raw.dense.present()) return load(builder, raw.rows, source, weight_queue(plan));
  load(builder, raw.dense, source, weight_queue(plan));
  spread_groups(builder, raw.rows, raw.dense, raw.mask);
}

/// Few channels: one copy puts (kernel row, channel) side by side; blocks are windows of that.
void load_packed(Builder& builder, const Conv2dPlan& plan, const View& source,
                 const RawWeights& raw, const Target& target) {
  load_rows(builder, plan, source, raw);
  stage(builder, raw.reordered, raw.rows.permute({0, 3, 2, 1}));
  const View windows = raw.reordered.merge(2);  // [filters, KW, KH * channels]
  const int64_t window = plan.block_kernel_rows * plan.channels;
  for (int64_t block = 0; block < plan.blocks; ++block) {
    const int64_t depth = plan.depth(block);
    transpose(builder, windows.slice(2, block * window, depth).expand(1),
              target(block).slice(0, 0, depth));
  }
}

void load_blocks(Builder& builder, const Conv2dPlan& plan, const View& source,
                 const RawWeights& raw, const Target& target) {
  if (!plan.weights_by_block) load_rows(builder, plan, source, raw);
  for_tiles(builder, plan.channels, plan.block_channels,
            [&](const Affine& start, int64_t depth, const Affine& index) {
              const Affine first = plan.weights_by_block ? Affine(0) : start;
              View part = raw.rows.slice(1, first, depth);
              if (plan.weights_by_block) {
                part = part.turn(index);
                load(builder, part, source.slice(1, start, depth), weight_queue(plan));
              }
              if (raw.integers.present()) {
                const View integers =
                    raw.integers.turn(index).slice(0, 0, part.partitions()).slice(1, 0, depth);
                stage(builder, integers, part);
                part = integers;
              }
              transpose(builder, part.permute({0, 2, 3, 1}), target(index).slice(0, 0, depth));
            });
}

/// Weights that are too large to stage: the DMA engines transpose, element by element.
void load_by_dma(Builder& builder, const Conv2dPlan& plan, const View& source,
                 const Target& target) {
  const View transposed = source.permute({1, 2, 3, 0});  // [Cin, KH, KW, filters]
  const int64_t channels = plan.channels;
  if (!plan.packed) {
    for_tiles(builder, channels, plan.block_channels,
              [&](const Affine& start, int64_t depth, const Affine& index) {
                load(builder, target(index).slice(0, 0, depth), transposed.slice(0, start, depth),
                     weight_queue(plan));
              });
    return;
  }
  for (int64_t row = 0; row < plan.shape.rows.kernel; ++row) {
    const int64_t first = row % plan.block_kernel_rows * channels;
    load(builder, target(row / plan.block_kernel_rows).slice(0, first, channels),
         transposed.slice(1, row, 1), weight_queue(plan));
  }
}

}  // namespace

View allocate_weights(Builder& builder, const Conv2dPlan& plan) {
  return builder.sbuf("weights",
                      {builder.limits().partitions, plan.tap_rows, plan.shape.columns.kernel,
                       plan.tile_filter_blocks() * plan.filter_block},
                      plan.shape.dtype, static_cast<int>(plan.weight_sets * plan.weight_tiles()));
}

View weights_of_block(const Conv2dPlan& plan, const View& weights, const Affine& set,
                      const Affine& block, const Affine& contraction) {
  if (plan.tile_filter_blocks() > 1) {
    return weights.turn(set * plan.blocks + contraction)
        .slice(3, block * plan.filter_block, plan.filter_block);
  }
  return weights.turn((set * plan.filter_blocks() + block) * plan.blocks + contraction);
}

RawWeights allocate_raw_weights(Builder& builder, const Conv2dPlan& plan) {
  RawWeights raw;
  const Conv2dShape& shape = plan.shape;
  if (plan.weights_by_dma) return raw;
  const int64_t channels = plan.weights_by_block ? plan.block_channels : plan.channels;
  const int64_t kernel_h = shape.rows.kernel, kernel_w = shape.columns.kernel;
  if (plan.set_groups > 1) {
    raw.mask = load_group_mask(builder, plan.set_groups, plan.shape.filters, plan.shape.dtype,
                               weight_queue(plan));
    raw.dense = builder.sbuf("dense weights", {plan.filters, shape.channels, kernel_h, kernel_w},
                             shape.dtype, 2);
  }
  raw.rows = builder.sbuf("raw weights", {plan.filter_block, channels, kernel_h, kernel_w},
                          shape.dtype, 2);
  const Dtype dtype = transposed_dtype(builder, shape.dtype);
  if (plan.packed) {
    raw.reordered = builder.sbuf("reordered weights",
                                 {plan.filter_block, kernel_w, kernel_h, channels}, dtype, 2);
  } else if (dtype != shape.dtype) {
    raw.integers = builder.sbuf(
        "integer weights", {plan.filter_block, plan.block_channels, kernel_h, kernel_w}, dtype, 2);
  }
  return raw;
}

void load_weights(Builder& builder, const Conv2dPlan& plan, const View& weight,
                  const RawWeights& raw, const View& weights, const Conv2dPass& pass) {
  if (plan.shape.weights_by_channel) {
    const Target target = [&](const Affine& contraction) {
      return weights.turn(pass.set * plan.blocks + contraction).slice(3, 0, pass.count);
    };
    return load_by_dma(builder, plan, weight.slice(0, pass.first, pass.count), target);
  }
  for_tiles(
      builder, pass.count, plan.filter_block,
      [&](const Affine& start, int64_t size, const Affine& block) {
        const Affine index = pass.set * plan.filter_blocks() + block;
        const View source = weight.slice(0, pass.first + start, size);
        const Target target = [&](const Affine& contraction) {
          return weights_of_block(plan, weights, pass.set, block, contraction).slice(3, 0, size);
        };
        if (plan.weights_by_dma) return load_by_dma(builder, plan, source, target);
        RawWeights staged = raw;
        staged.rows = raw.rows.turn(index).slice(0, 0, size);
        if (raw.dense.present()) staged.dense = raw.dense.turn(index);
        if (!plan.packed) return load_blocks(builder, plan, source, staged, target);
        staged.reordered = raw.reordered.turn(index).slice(0, 0, size);
        load_packed(builder, plan, source, staged, target);
      });
}

View allocate_bias(Builder& builder, const Conv2dPlan& plan, Dtype dtype) {
  return builder.sbuf("bias", {plan.filter_block, plan.filter_blocks()}, dtype,
                      static_cast<int>(plan.weight_sets));
}

void load_bias(Builder& builder, const Conv2dPlan& plan, const View& bias, const View& tiles,
               const Conv2dPass& pass) {
  const View tile = tiles.turn(pass.set);
  const int64_t block = plan.filter_block;
  const int64_t full = pass.count / block, rest = pass.count % block;
  if (full > 0) {
    load(builder, tile.slice(1, 0, full),
         bias.slice(0, pass.first, full * block).split(0, full, block).permute({1, 0}),
         weight_queue(plan));
  }
  if (rest > 0) {
    load(builder, tile.slice(0, 0, rest).slice(1, full, 1),
         bias.slice(0, pass.first + full * block, rest).expand(1), weight_queue(plan));
  }
}

}  // namespace neuron_sim
