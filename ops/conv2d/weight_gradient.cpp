#include "ops/conv2d/weight_gradient.h"

#include <algorithm>

#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/conv2d/weight_gradient_tiles.h"
#include "ops/copies/zeros.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "conv2d_weight_gradient";

/// Results in HBM; the weight with its axes in the order of the plan.
struct Results {
  View weight;
  View bias;  ///< absent: not computed
};

class WeightGradient {
 public:
  WeightGradient(Builder& builder, const WeightGradientPlan& plan, const View& gradient,
                 const View& input, const Results& results)
      : builder_(builder),
        plan_(plan),
        results_(results),
        banks_(plan.banks(builder.limits(), plan.block_channels)),
        operands_(builder, plan, gradient, input) {
    const Dtype dtype = input.dtype();
    const int64_t partitions = builder.limits().partitions;
    const Conv2dSizes& sizes = plan.sizes;
    std::vector<int64_t> shape{partitions, plan.block_channels, sizes.kernel[0], sizes.kernel[1]};
    if (plan.swapped) std::swap(shape[2], shape[3]);
    weight_ = in_plan_order(builder.sbuf("weight_gradient", shape, dtype, 2));
    bias_ = builder.sbuf("bias_gradient", {partitions, 1}, dtype, 2);
    ones_ = builder.sbuf("ones", {partitions, 1}, dtype);
    builder.emit(Memset{.dst = ones_, .value = 1});
    sums_ = builder.psum("weight_sums", {partitions, product_columns(builder.limits())},
                         Dtype::kFloat32, static_cast<int>(plan.pass_banks));
    bias_sums_ = builder.psum("bias_sums", {partitions, 1});
  }

  void emit() {
    const Conv2dSizes& sizes = plan_.sizes;
    const int64_t filters = sizes.group_filters(), channels = sizes.group_channels();
    for_tiles(builder_, sizes.geometry.groups, plan_.block_groups,
              [&](const Affine& group, int64_t groups, const Affine& index) {
                if (plan_.block_groups == 1) return emit_group(group);
                emit_block({group * filters, group * channels, 0, groups * filters,
                            groups * channels, groups},
                           true, index);
              });
  }

 private:
  View in_plan_order(const View& view) const {
    return plan_.swapped ? view.permute({0, 1, 3, 2}) : view;
  }

  /// Blocks of filters and channels of one group; the first channels bring the bias along.
  void emit_group(const Affine& group) {
    const int64_t filters = plan_.sizes.group_filters(), channels = plan_.sizes.group_channels();
    for_tiles(builder_, filters, plan_.block_filters,
              [&](const Affine& filter, int64_t count, const Affine& index) {
                const auto emit_channels = [&](const Affine& channel, int64_t depth, bool bias) {
                  emit_block(
                      {group * filters + filter, group * channels + channel, channel, count, depth},
                      bias, index);
                };
                const int64_t first = std::min(channels, plan_.block_channels);
                emit_channels(0, first, true);
                for_tiles(builder_, channels - first, plan_.block_channels,
                          [&](const Affine& channel, int64_t depth, const Affine&) {
                            emit_channels(channel + first, depth, false);
                          });
              });
  }

  /// `turn` counts blocks, for the rings of results.
  void emit_block(const ChannelBlock& block, bool with_bias, const Affine& turn) {
    const size_t per_pass = static_cast<size_t>(plan_.pass_banks);
    for (size_t first = 0; first < banks_.size(); first += per_pass) {
      const size_t last = std::min(first + per_pass, banks_.size());
      pass_.assign(banks_.begin() + static_cast<std::ptrdiff_t>(first),
                   banks_.begin() + static_cast<std::ptrdiff_t>(last));
      taps_ = {pass_.front().row, pass_.back().row + pass_.back().rows - pass_.front().row};
      pass_has_bias_ = with_bias && first == 0 && results_.bias.present();
      emit_pass(block);
      evacuate(block, turn);
    }
    store_block(block, turn);
    if (with_bias && results_.bias.present()) {
      store(builder_, results_.bias.slice(0, block.first_filter, block.filters).expand(1),
            bias_.turn(turn).slice(0, 0, block.filters));
    }
  }

  View sums(size_t bank, const ChannelBlock& block) const {
    const TapBank& taps = pass_[bank];
    return sums_.turn(static_cast<int64_t>(bank))
        .slice(0, 0, block.filters)
        .slice(1, 0, taps.rows * taps.columns * block.channels);
  }

  void emit_pass(const ChannelBlock& block) {
    for (size_t i = 0; i < pass_.size(); ++i) builder_.emit(Memset{.dst = sums(i, block)});
    if (pass_has_bias_) {
      builder_.emit(Memset{.dst = bias_sums_.slice(0, 0, block.filters)});
    }
    const std::vector<PixelTile> tiles = image_tiles();
    const auto prepare = [&](size_t i, const Affine& image, int64_t images, const Affine& index) {
      operands_.prepare(block, at(tiles, i, image, images, index), taps_);
    };
    const auto multiply = [&](size_t i, const Affine& image, int64_t images, const Affine& index) {
      multiply_tile(block, at(tiles, i, image, images, index));
    };
    const int64_t total = plan_.sizes.images;
    if (tiles.size() == 1) {
      for_tiles_ahead(
          builder_, total, plan_.images,
          [&](const Affine& image, int64_t count, const Affine& i) { prepare(0, image, count, i); },
          [&](const Affine& image, int64_t count, const Affine& i) {
            multiply(0, image, count, i);
          });
      return;
    }
    for_tiles(builder_, total, plan_.images,
              [&](const Affine& image, int64_t count, const Affine& index) {
                prepare(0, image, count, index);
                for (size_t i = 0; i < tiles.size(); ++i) {
                  if (i + 1 < tiles.size()) prepare(i + 1, image, count, index);
                  multiply(i, image, count, index);
                }
              });
  }

  /// The tiles of one group of images.
  std::vector<PixelTile> image_tiles() const {
    std::vector<PixelTile> tiles;
    const auto& output = plan_.sizes.output;
    for (int64_t row = 0; row < output[0]; row += plan_.rows) {
      for (int64_t column = 0; column < output[1]; column += plan_.columns) {
        PixelTile tile;
        tile.row = row;
        tile.rows = std::min(plan_.rows, output[0] - row);
        tile.column = column;
        tile.columns = std::min(plan_.columns, output[1] - column);
        tiles.push_back(tile);
      }
    }
    return tiles;
  }
  static PixelTile at(const std::vector<PixelTile>& tiles, size_t i, const Affine& image,
                      int64_t images, const Affine& index) {
    PixelTile tile = tiles[i];
    tile.image = image;
    tile.images = images;
    tile.index = index * static_cast<int64_t>(tiles.size()) + static_cast<int64_t>(i);
    return tile;
  }

  void multiply_tile(const ChannelBlock& block, const PixelTile& tile) {
    builder_.loop(tile.columns, [&](const Affine& column) {
      const View stationary = operands_.stationary(block, tile, column);
      for (size_t i = 0; i < pass_.size(); ++i) {
        builder_.emit(NcMatmul{.dst = sums(i, block),
                               .stationary = stationary,
                               .moving = operands_.moving(block, tile, column, pass_[i], taps_),
                               .accumulate = true});
      }
      if (!pass_has_bias_) return;
      builder_.emit(NcMatmul{.dst = bias_sums_.slice(0, 0, block.filters),
                             .stationary = stationary,
                             .moving = ones_.slice(0, 0, tile.partitions()),
                             .accumulate = true});
    });
  }

  void evacuate(const ChannelBlock& block, const Affine& turn) {
    for (size_t i = 0; i < pass_.size(); ++i) {
      const TapBank& taps = pass_[i];
      builder_.emit(TensorCopy{.dst = weight_.turn(turn)
                                          .slice(0, 0, block.filters)
                                          .slice(1, 0, block.channels)
                                          .slice(2, taps.row, taps.rows)
                                          .slice(3, taps.column, taps.columns),
                               .src = sums(i, block)
                                          .split(1, taps.rows, taps.columns * block.channels)
                                          .split(2, taps.columns, block.channels)
                                          .permute({0, 3, 1, 2})});
    }
    if (!pass_has_bias_) return;
    builder_.emit(TensorCopy{.dst = bias_.turn(turn).slice(0, 0, block.filters),
                             .src = bias_sums_.slice(0, 0, block.filters)});
  }

  /// Stores the block, or its diagonal if groups were multiplied together.
  void store_block(const ChannelBlock& block, const Affine& turn) {
    const int64_t filters = block.filters / block.groups, channels = block.channels / block.groups;
    const View tile = in_plan_order(weight_.turn(turn));  // in the order of memory
    const View target = in_plan_order(results_.weight);
    builder_.loop(block.groups, [&](const Affine& group) {
      store(builder_,
            target.slice(0, block.first_filter + group * filters, filters)
                .slice(1, block.weight_channel, channels),
            tile.slice(0, group * filters, filters).slice(1, group * channels, channels));
    });
  }

  Builder& builder_;
  const WeightGradientPlan& plan_;
  const Results& results_;
  const std::vector<TapBank> banks_;
  PixelOperands operands_;
  View weight_, bias_, ones_, sums_, bias_sums_;
  std::vector<TapBank> pass_;
  TapRows taps_;
  bool pass_has_bias_ = false;
};

/// Channels first: gradient [Cout, N, OH, OW], input [Cin, N, H, W].
void emit_gradients(Builder& builder, const Conv2dSizes& sizes, View gradient, View input,
                    Results results) {
  const WeightGradientPlan plan =
      plan_weight_gradient(builder.architecture(), sizes, input.dtype());
  if (plan.swapped) {
    for (View* view : {&gradient, &input, &results.weight}) *view = view->permute({0, 1, 3, 2});
  }
  WeightGradient(builder, plan, gradient, input, results).emit();
}

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const Conv2dGeometry& geometry) {
  if (operands.size() < 3) return {};  // emit checks the operands and the results
  const TensorSpec &gradient = operands[0], &input = operands[1], &weight = operands[2];
  const Conv2dSizes sizes = conv2d_sizes(kOp, gradient, input, weight, geometry);
  return {{weight.shape, {}, weight.dtype}, {{sizes.filters}, {}, weight.dtype}};
}

}  // namespace

const KernelDefinition<Conv2dGeometry> kConv2dWeightGradient{
    "conv2d_weight_gradient", "gradient input (weight) -> grad_weight grad_bias", results_of,
    emit_conv2d_weight_gradient};
const NamedKernel kConv2dWeightGradientByName{kConv2dWeightGradient};

void emit_conv2d_weight_gradient(Builder& builder, HbmTensors operands, HbmTensors targets,
                                 const Conv2dGeometry& geometry) {
  const HbmTensor &gradient = operands[0], &input = operands[1], &grad_weight = targets[0];
  const Conv2dSizes sizes =
      conv2d_sizes(kOp, spec_of(gradient), spec_of(input), spec_of(grad_weight), geometry);
  const Results results{grad_weight.view(), targets.size() > 1 ? targets[1].view() : View()};
  builder.scope([&] {
    if (sizes.images == 0) {
      emit_zeros(builder, results.weight.merge(1).merge(1));
      if (results.bias.present()) emit_zeros(builder, results.bias.expand(0));
      return;
    }
    emit_gradients(builder, sizes, gradient.view().permute({1, 0, 2, 3}),
                   input.view().permute({1, 0, 2, 3}), results);
  });
}

}  // namespace neuron_sim
