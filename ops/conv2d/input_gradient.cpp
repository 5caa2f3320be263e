#include "ops/conv2d/input_gradient.h"

#include <algorithm>
#include <functional>

#include "device/isa/activation/activation.h"
#include "device/isa/movement/memset.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "ops/blocks/tiles.h"
#include "ops/contract/named_kernel.h"
#include "ops/conv2d/group_weights.h"
#include "ops/conv2d/input_gradient_plan.h"
#include "ops/conv2d/window.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kOp = "conv2d_input_gradient";
constexpr int kStagingRing = 2;

/// Channels first: gradient [Cout, N, OH, OW], result [Cin, N, H, W]; weight [Cout, Cin, KH, KW].
struct Tensors {
  View gradient, weight, result;
  View bias{};  ///< [Cin]; absent: no bias
};

/// Steps of both axes that one image tile computes.
struct Band {
  Affine image;
  int64_t images = 0;
  std::array<Affine, 2> start;
  std::array<int64_t, 2> size{};
  Affine index;  ///< running number, for rings
};

class InputGradient {
 public:
  InputGradient(Builder& builder, const Conv2dSizes& sizes, const Tensors& tensors,
                const InputGradientPlan& plan)
      : builder_(builder), sizes_(sizes), tensors_(tensors), plan_(plan) {
    const Dtype dtype = tensors.gradient.dtype();
    const int64_t partitions = builder.limits().partitions;
    runs_ = {cut_bands(plan.axes[0], plan.steps[0]), cut_bands(plan.axes[1], plan.steps[1])};
    weights_ = builder.sbuf(
        "weights",
        {partitions, plan.filter_blocks, plan.block_channels, sizes.kernel[0], sizes.kernel[1]},
        dtype, 2);
    if (plan.set_groups > 1) {
      mask_ = load_group_mask(builder, plan.set_groups, sizes.group_filters(), dtype);
      dense_ = builder.sbuf("dense_weights",
                            {partitions, sizes.group_channels(), sizes.kernel[0], sizes.kernel[1]},
                            dtype, 2);
    }
    images_ = builder.sbuf("gradient_tile",
                           {partitions, plan.filter_blocks, plan.images,
                            plan.axes[0].reach(plan.steps[0]), plan.axes[1].reach(plan.steps[1])},
                           dtype, static_cast<int>(plan.image_ring));
    staging_ = builder.sbuf("result",
                            {partitions, plan.images, plan.axes[0].inputs(plan.steps[0]),
                             plan.axes[1].inputs(plan.steps[1])},
                            dtype, kStagingRing);
    if (tensors.bias.present()) bias_ = builder.sbuf("bias", {partitions, 1}, dtype, 2);
    psum_ = builder.psum("sums", {partitions, product_columns(builder.limits())}, Dtype::kFloat32,
                         static_cast<int>(builder.limits().psum_banks));
  }

  void emit() {
    if (has_empty_phase() &&
        !bias_.present()) {  // nothing ever writes its pixels in the staging tiles
      builder_.loop(kStagingRing, [&](const Affine& i) {
        builder_.emit(Memset{.dst = staging_.turn(i), .engine = EngineKind::kGpSimd});
      });
    }
    if (is_single_band()) {
      groups_ = plan_.set_groups;
      Band whole;
      whole.images = plan_.images;
      whole.size = plan_.steps;
      builder_.loop(plan_.image_ring, [&](const Affine& i) {
        whole.index = i;
        clear(whole);
      });
    }
    const int64_t channels = sizes_.group_channels();
    const int64_t blocks = ceiling(channels, plan_.block_channels);
    for_tiles(builder_, sizes_.geometry.groups, plan_.set_groups,
              [&](const Affine& group, int64_t groups, const Affine& set) {
                first_filter_ = group * sizes_.group_filters();
                groups_ = groups;
                for_tiles(builder_, groups * channels, plan_.block_channels,
                          [&](const Affine& first, int64_t count, const Affine& index) {
                            load_weights(first, count, set * blocks + index);
                            first_channel_ = group * channels + first;
                            channels_ = count;
                            load_bias(set * blocks + index);
                            emit_images();
                          });
              });
  }

 private:
  bool has_empty_phase() const {
    for (const PhasedAxis& axis : plan_.axes) {
      for (const std::vector<PhaseTap>& taps : axis.phases) {
        if (taps.empty()) return true;
      }
    }
    return false;
  }
  bool is_single_band() const {
    return runs_[0].size() == 1 && runs_[0][0].count == 1 && runs_[1].size() == 1 &&
           runs_[1][0].count == 1;
  }

  /// body(first, depth, block) over the blocks of contracted channels.
  void for_blocks(const std::function<void(int64_t, int64_t, int64_t)>& body) const {
    const int64_t partitions = builder_.limits().partitions;
    const int64_t total = groups_ * sizes_.group_filters();
    for (int64_t block = 0; block < plan_.filter_blocks; ++block) {
      const int64_t first = block * partitions;
      body(first, std::min(partitions, total - first), block);
    }
  }

  void load_bias(const Affine& turn) {
    if (!bias_.present()) return;
    loaded_bias_ = bias_.turn(turn).slice(0, 0, channels_);
    load(builder_, loaded_bias_, tensors_.bias.slice(0, first_channel_, channels_).expand(1),
         EngineKind::kScalar);
  }

  void load_weights(const Affine& first, int64_t count, const Affine& turn) {
    loaded_ = weights_.turn(turn);
    if (plan_.set_groups > 1) return load_set(turn);
    for_blocks([&](int64_t filter, int64_t depth, int64_t block) {
      load(builder_, loaded_.select(1, block).slice(0, 0, depth).slice(1, 0, count),
           tensors_.weight.slice(0, first_filter_ + filter, depth).slice(1, first, count),
           EngineKind::kScalar);
    });
  }

  /// The weights of several groups.
  void load_set(const Affine& turn) {
    const int64_t filters = groups_ * sizes_.group_filters(), depth = sizes_.group_channels();
    const View dense = dense_.turn(turn).slice(0, 0, filters);
    load(builder_, dense, tensors_.weight.slice(0, first_filter_, filters), EngineKind::kScalar);
    spread_groups(builder_, loaded_.select(1, 0).slice(0, 0, filters).slice(1, 0, groups_ * depth),
                  dense, mask_.slice(0, 0, filters).slice(1, 0, groups_));
  }

  void emit_images() {
    int64_t bands = 0;
    for (const BandRun& rows : runs_[0]) {
      for (const BandRun& columns : runs_[1]) bands += rows.count * columns.count;
    }
    for_tiles(builder_, sizes_.images, plan_.images,
              [&](const Affine& image, int64_t images, const Affine& number) {
                int64_t index = 0;
                for (const BandRun& rows : runs_[0]) {
                  for (const BandRun& columns : runs_[1]) {
                    emit_run({image, images, {}, {rows.size, columns.size}, {}}, rows, columns,
                             number * bands + index);
                    index += rows.count * columns.count;
                  }
                }
              });
  }

  void emit_run(Band band, const BandRun& rows, const BandRun& columns, const Affine& index) {
    builder_.loop(rows.count, [&](const Affine& row) {
      builder_.loop(columns.count, [&](const Affine& column) {
        band.start = {row * rows.size + rows.start, column * columns.size + columns.start};
        band.index = index + row * columns.count + column;
        load_band(band);
        emit_phases(band);
        store_band(band);
      });
    });
  }

  std::array<ClippedAxis, 2> clip(const Band& band) const {
    std::array<ClippedAxis, 2> axes;
    for (size_t i = 0; i < 2; ++i) {
      const PhasedAxis& axis = plan_.axes[i];
      axes[i] = clip_axis(band.start[i] + axis.first, axis.reach(band.size[i]), axis.output);
    }
    return axes;
  }
  /// [depth, images, rows, columns] of one block of an image tile.
  View tile(const Band& band, int64_t block, int64_t depth) const {
    return images_.turn(band.index)
        .select(1, block)
        .slice(0, 0, depth)
        .slice(1, 0, band.images)
        .slice(2, 0, plan_.axes[0].reach(band.size[0]))
        .slice(3, 0, plan_.axes[1].reach(band.size[1]));
  }
  void clear(const Band& band) {
    for_blocks([&](int64_t, int64_t depth, int64_t block) {
      clear_borders(builder_, tile(band, block, depth), clip(band));
    });
  }
  void load_band(const Band& band) {
    if (!is_single_band()) clear(band);
    for_blocks([&](int64_t filter, int64_t depth, int64_t block) {
      load_inside(builder_, tile(band, block, depth),
                  tensors_.gradient.slice(0, first_filter_ + filter, depth)
                      .slice(1, band.image, band.images),
                  clip(band), kLoadQueue);
    });
  }

  /// Steps of a phase in the band; bands in loops have all of them.
  int64_t steps_of(const Band& band, size_t axis, size_t phase) const {
    if (!band.start[axis].is_constant()) return band.size[axis];
    return plan_.axes[axis].steps_of(static_cast<int64_t>(phase), band.start[axis].constant(),
                                     band.size[axis]);
  }

  void emit_phases(const Band& band) {
    for (size_t y = 0; y < plan_.axes[0].phases.size(); ++y) {
      for (size_t x = 0; x < plan_.axes[1].phases.size(); ++x) {
        const int64_t rows = steps_of(band, 0, y), columns = steps_of(band, 1, x);
        if (rows == 0 || columns == 0) continue;
        const View target = staging_.turn(band.index)
                                .slice(0, 0, channels_)
                                .slice(1, 0, band.images)
                                .slice(2, static_cast<int64_t>(y), rows, plan_.axes[0].stride)
                                .slice(3, static_cast<int64_t>(x), columns, plan_.axes[1].stride);
        emit_phase(band, plan_.axes[0].phases[y], plan_.axes[1].phases[x], target);
      }
    }
  }

  void emit_phase(const Band& band, const std::vector<PhaseTap>& rows,
                  const std::vector<PhaseTap>& columns, const View& target) {
    if (rows.empty() || columns.empty()) return emit_empty_phase(target);
    for_tiles(builder_, target.size(1), plan_.bank_images,
              [&](const Affine& image, int64_t images, const Affine& group) {
                for_tiles(builder_, target.size(2), plan_.bank_rows,
                          [&](const Affine& row, int64_t count, const Affine& index) {
                            const View part = target.slice(1, image, images).slice(2, row, count);
                            const Affine turn =
                                group * ceiling(target.size(2), plan_.bank_rows) + index;
                            emit_bank(band, rows, columns, part, image, row, turn);
                          });
              });
  }

  /// Pixels that no tap reaches: the bias, or the zeros they were cleared to.
  void emit_empty_phase(const View& target) {
    if (!bias_.present()) return;
    View bias = loaded_bias_;
    for (int i = 2; i < 4; ++i) bias = bias.expand(i);
    for (int i = 1; i < 4; ++i) bias = bias.broadcast(i, target.size(i));
    builder_.emit(TensorCopy{.dst = target, .src = bias});
  }

  void emit_bank(const Band& band, const std::vector<PhaseTap>& rows,
                 const std::vector<PhaseTap>& columns, const View& target, const Affine& image,
                 const Affine& row, const Affine& turn) {
    const View psum = psum_.turn(turn).slice(0, 0, channels_).slice(1, 0, target.free_elements());
    bool accumulate = false;
    for_blocks([&](int64_t, int64_t depth, int64_t block) {
      const View weights = loaded_.select(1, block).slice(0, 0, depth).slice(1, 0, channels_);
      const View images = tile(band, block, depth).slice(1, image, target.size(1));
      for (const PhaseTap& y : rows) {
        for (const PhaseTap& x : columns) {
          const Affine first_row = row + (y.offset - plan_.axes[0].first);
          const int64_t first_column = x.offset - plan_.axes[1].first;
          builder_.emit(NcMatmul{
              .dst = psum,
              .stationary = weights.select(2, y.kernel).select(2, x.kernel),
              .moving =
                  images.slice(2, first_row, target.size(2)).slice(3, first_column, target.size(3)),
              .accumulate = accumulate});
          accumulate = true;
        }
      }
    });
    builder_.emit(Activate{.dst = target, .data = psum, .bias_tile = loaded_bias_});
  }

  void store_band(const Band& band) {
    std::array<int64_t, 2> count{};
    for (size_t i = 0; i < 2; ++i) {
      const PhasedAxis& axis = plan_.axes[i];
      count[i] = band.size[i] * axis.stride;
      if (band.start[i].is_constant()) {
        count[i] = std::min(count[i], axis.extent - band.start[i].constant() * axis.stride);
      }
    }
    store(builder_,
          tensors_.result.slice(0, first_channel_, channels_)
              .slice(1, band.image, band.images)
              .slice(2, band.start[0] * plan_.axes[0].stride, count[0])
              .slice(3, band.start[1] * plan_.axes[1].stride, count[1]),
          staging_.turn(band.index)
              .slice(0, 0, channels_)
              .slice(1, 0, band.images)
              .slice(2, 0, count[0])
              .slice(3, 0, count[1]));
  }

  Builder& builder_;
  const Conv2dSizes& sizes_;
  const Tensors& tensors_;
  const InputGradientPlan& plan_;
  std::array<std::vector<BandRun>, 2> runs_;
  View weights_, loaded_, dense_, mask_, images_, staging_, psum_;
  View bias_, loaded_bias_;
  Affine first_filter_, first_channel_;
  int64_t channels_ = 0, groups_ = 1;
};

std::vector<TensorSpec> results_of(std::span<const TensorSpec> operands,
                                   const Conv2dGeometry& geometry) {
  if (operands.size() < 3) return {};  // emit checks the operands and the result
  const TensorSpec &gradient = operands[0], &weight = operands[1], &input = operands[2];
  conv2d_sizes(kOp, gradient, input, weight, geometry);
  return {{input.shape, {}, input.dtype}};
}

}  // namespace

const KernelDefinition<Conv2dGeometry> kConv2dInputGradient{"conv2d_input_gradient",
                                                            "gradient weight (input) -> grad_input",
                                                            results_of, emit_conv2d_input_gradient};
const NamedKernel kConv2dInputGradientByName{kConv2dInputGradient};

void emit_conv2d_input_gradient(Builder& builder, HbmTensors operands, HbmTensors results,
                                const Conv2dGeometry& geometry) {
  const HbmTensor &gradient = operands[0], &weight = operands[1], &result = results[0];
  const Conv2dSizes sizes =
      conv2d_sizes(kOp, spec_of(gradient), spec_of(result), spec_of(weight), geometry);
  Tensors tensors{gradient.view().permute({1, 0, 2, 3}), weight.view(),
                  result.view().permute({1, 0, 2, 3})};
  if (operands.size() > 2) tensors.bias = operands[2].view();
  const InputGradientPlan plan = plan_input_gradient(builder.architecture(), sizes, result.dtype());
  builder.scope([&] { InputGradient(builder, sizes, tensors, plan).emit(); });
}

}  // namespace neuron_sim
