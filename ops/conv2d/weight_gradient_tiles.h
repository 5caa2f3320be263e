#pragma once
// The operands of the gradient of a convolution for its weight, with pixels on partitions.

#include <optional>

#include "ops/blocks/transposer.h"
#include "ops/conv2d/weight_gradient_plan.h"
#include "ops/conv2d/window.h"

namespace neuron_sim {

/// Channels and, when they are multiplied together, groups of one block of the weight.
struct ChannelBlock {
  Affine first_filter, first_channel;
  Affine weight_channel;  ///< the first channel counted within its group, as in the weight
  int64_t filters = 0, channels = 0, groups = 1;
};

/// Pixels whose operands are in SBUF together, of the convolution's output.
struct PixelTile {
  Affine image;
  int64_t images = 0;
  int64_t row = 0, rows = 0, column = 0, columns = 0;
  Affine index;  ///< running number, for rings
  int64_t partitions() const { return images * rows; }
};

/// Kernel rows [first, first + count) of one pass.
struct TapRows {
  int64_t first = 0, count = 0;
};

/// Loads and transposes both operands of a tile of pixels.
class PixelOperands {
 public:
  /// `gradient` [Cout, N, rows, columns] and `input` [Cin, N, rows, columns] in HBM, with axes in
  /// the order of the plan.
  PixelOperands(Builder& builder, const WeightGradientPlan& plan, const View& gradient,
                const View& input);

  /// Loads a tile and transposes it.
  void prepare(const ChannelBlock& block, const PixelTile& tile, const TapRows& taps);
  /// [pixels, filters] of one column of the tile.
  View stationary(const ChannelBlock& block, const PixelTile& tile, const Affine& column) const;
  /// [pixels, tap rows, tap columns, channels] of one column and the taps of a bank.
  View moving(const ChannelBlock& block, const PixelTile& tile, const Affine& column,
              const TapBank& bank, const TapRows& taps) const;

 private:
  /// Axes in the order of memory; its own inverse.
  View in_memory_order(const View& view) const;
  View image_tile(const ChannelBlock& block, const PixelTile& tile) const;
  View gradient_tile(const ChannelBlock& block, const PixelTile& tile) const;
  void load_tiles(const ChannelBlock& block, const PixelTile& tile);
  /// target [pixels, columns, C] = source [C, images, rows, columns] transposed. `turn` counts
  /// calls.
  void transpose(const View& target, const View& source, const Affine& turn, EngineKind engine);

  Builder& builder_;
  const WeightGradientPlan& plan_;
  View gradient_, input_;
  View images_, gradients_, dense_, moving_, stationary_;
  Transposer transposer_;
};

}  // namespace neuron_sim
