#include "ops/conv2d/plan.h"

#include <algorithm>
#include <numeric>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

// With less work than this many tiles per image the first load would not overlap with anything.
constexpr int64_t kTilesPerImage = 4;
constexpr int64_t kSmallestTileRows = 8;

/// Decides in this order: weights, banks, then the image tiles that fit in the rest of SBUF.
class ForwardPlanner {
 public:
  ForwardPlanner(const Architecture& architecture, const Conv2dShape& shape)
      : architecture_(architecture), limits_(architecture.limits) {
    plan_.shape = shape;
    element_ = itemsize(shape.dtype);
  }

  Conv2dPlan plan() {
    cut_groups();
    count_free();
    cut_banks();
    cut_bands();
    return plan_;
  }

 private:
  /// As many groups as fill the array, if the staging of their weights fits; then the cuts.
  void cut_groups() {
    const Conv2dShape& shape = plan_.shape;
    int64_t most =
        std::min(limits_.partitions / shape.channels, limits_.stationary_free / shape.filters);
    most = std::clamp<int64_t>(most, 1, shape.groups);
    while (!fill_sets(balanced(shape.groups, most))) most = ceiling(plan_.set_groups, 2);
    if (plan_.sets > 1 && plan_.pass_filters == plan_.filters &&
        2 * weight_bytes(plan_.filters) <= weight_budget()) {
      plan_.weight_sets = 2;
    }
  }

  /// Whether sets of that many groups can be computed together.
  bool fill_sets(int64_t groups) {
    plan_.set_groups = groups;
    plan_.sets = plan_.shape.groups / groups;
    plan_.channels = groups * plan_.shape.channels;
    plan_.filters = groups * plan_.shape.filters;
    cut_contraction();
    cut_filters();
    stage_weights();
    return groups == 1 || (plan_.pass_filters == plan_.filters && !plan_.weights_by_dma);
  }

  void cut_contraction() {
    const int64_t kernel = plan_.shape.rows.kernel;
    const int64_t rows = std::min(kernel, limits_.partitions / plan_.channels);
    plan_.packed = rows > 1;
    if (plan_.packed) {
      plan_.block_channels = plan_.channels;
      plan_.block_kernel_rows = balanced(kernel, rows);
      plan_.blocks = ceiling(kernel, plan_.block_kernel_rows);
      plan_.tap_rows = 1;
    } else {
      plan_.block_channels = std::min(plan_.channels, limits_.partitions);
      plan_.block_kernel_rows = 1;
      plan_.blocks = ceiling(plan_.channels, plan_.block_channels);
      plan_.tap_rows = kernel;
    }
  }

  int64_t weight_budget() const { return limits_.sbuf_usable.count / 3; }
  int64_t weight_bytes(int64_t filters) const {
    const int64_t tile =
        plan_.tap_rows * plan_.shape.columns.kernel * plan_.filter_block * element_;
    return ceiling(filters, plan_.filter_block) * plan_.blocks * ceiling(tile, 64) * 64;
  }

  /// All filters at once when their weights take at most a third of SBUF, else one block (of fewer
  /// filters if need be) after the other.
  void cut_filters() {
    plan_.filter_block = std::min(plan_.filters, limits_.stationary_free);
    plan_.pass_filters = plan_.filters;
    if (weight_bytes(plan_.filters) <= weight_budget()) return;
    while (plan_.filter_block > 1 && weight_bytes(plan_.filter_block) > weight_budget()) {
      plan_.filter_block = ceiling(plan_.filter_block, 2);
    }
    plan_.pass_filters = plan_.filter_block;
  }

  /// How untransposed weights are staged; sets raw_bytes_.
  void stage_weights() {
    const int64_t taps = plan_.shape.taps();
    const int64_t budget = limits_.sbuf_usable.count / 8;
    // Besides the rows: their reordered copy, or integers in fp32 (weights.cpp).
    const bool integers = !architecture_.features.exact_transpose && element_ == 2;
    const int64_t copy = integers ? 4 : plan_.packed ? element_ : 0;
    const int64_t block = plan_.block_channels * taps;
    // The unchanged weights, before zeros are put between groups.
    const int64_t dense = plan_.set_groups > 1 ? plan_.shape.channels * taps * element_ : 0;
    raw_bytes_ = plan_.channels * taps * element_ + block * copy + dense;
    plan_.weights_by_block =
        raw_bytes_ > budget && !plan_.packed && !plan_.shape.weights_by_channel;
    if (plan_.weights_by_block) raw_bytes_ = block * (element_ + copy) + dense;
    plan_.weights_by_dma = raw_bytes_ > budget || plan_.shape.weights_by_channel;
    if (plan_.weights_by_dma) raw_bytes_ = 0;
  }

  /// Bytes per partition left for images and outputs.
  void count_free() {
    const int64_t bias =
        plan_.weight_sets * plan_.filter_blocks() *
        (itemsize(plan_.shape.bias_dtype) + plan_.shape.filter_values * itemsize(Dtype::kFloat32));
    const int64_t mask = plan_.set_groups > 1 ? plan_.set_groups * element_ : 0;
    free_ = limits_.sbuf_usable.count - plan_.weight_sets * weight_bytes(plan_.pass_filters) -
            bias - mask - 1024 - 2 * raw_bytes_;
    if (plan_.shape.filter_values > 0) free_ -= 2 * plan_.filter_block * itemsize(Dtype::kFloat32);
  }

  void cut_banks() {
    const Conv2dShape& shape = plan_.shape;
    const int64_t columns = limits_.psum_bank.count / itemsize(Dtype::kFloat32);
    const int64_t capacity = std::min(columns, limits_.moving_free);
    plan_.bank_columns = balanced(shape.columns.convolved(), capacity);
    const int64_t rows = std::max<int64_t>(1, capacity / plan_.bank_columns);
    plan_.bank_rows = balanced(shape.rows.convolved(), rows);
    const int64_t image = shape.rows.convolved() * shape.columns.convolved();
    if (image <= capacity) {
      plan_.bank_images = balanced(shape.images, capacity / image);
    }
    // Where loading weights is not hidden, several banks share one load.
    if (!architecture_.features.hidden_weight_load) plan_.banks = limits_.psum_banks / 2;
  }

  int64_t output_bytes() const {
    const int64_t pixels = plan_.band_images * plan_.band_rows() * plan_.panel_columns();
    const int64_t pooled_rows = plan_.band_images * plan_.band_outputs;
    // staging tiles and pooled tiles with their half-pooled intermediates, two of each, and the
    // running maxima of windows that are cut
    const int64_t half =
        plan_.shape.is_pooled() ? pooled_rows * (plan_.panel_columns() + plan_.panel_outputs) : 0;
    const int64_t bank = plan_.bank_images * plan_.bank_rows * plan_.bank_columns;
    return (2 * pixels + 2 * half + plan_.filter_blocks() * plan_.panel_outputs) *
               plan_.shape.output_bytes() +
           2 * pixels * plan_.shape.follower_tile_bytes + bank * plan_.shape.follower_value_bytes +
           512;
  }
  int64_t image_bytes() const {
    return plan_.blocks * plan_.band_images * plan_.tile_rows() * plan_.tile_columns() * element_;
  }
  bool fits() const {
    return plan_.image_ring * image_bytes() + plan_.dense_bytes() + output_bytes() <= free_;
  }

  void cut_bands() {
    const Conv2dShape& shape = plan_.shape;
    plan_.panel_outputs = shape.columns.outputs;
    plan_.band_outputs = shape.rows.outputs;
    plan_.band_images = plan_.bank_images;
    plan_.image_ring = 3;
    const DmaTiming& dma = architecture_.dma;  // where short rows cost no more, the copy would
    plan_.short_rows = !plan_.packed && shape.columns.padding > 0 &&
                       dma.small_row_packet.count > 0 &&
                       shape.columns.extent * element_ < dma.small_row;
    if (gather_images()) return;
    plan_.band_images = plan_.bank_images = 1;
    cut_rows();
    if (fits()) return;
    plan_.image_ring = 2;
    while (!fits() && shrink()) {
    }
    if (!fits()) {
      fail(text("conv2d_maxpool with input [", shape.images, ", ", shape.groups * shape.channels,
                ", ", shape.rows.extent, ", ", shape.columns.extent, "] and kernel ",
                shape.rows.kernel, " x ", shape.columns.kernel, " needs ",
                plan_.image_ring * image_bytes() + output_bytes(),
                " bytes per partition for its smallest tiles, sbuf has ", free_, " left on ",
                architecture_.name, "."),
           ErrorKind::kOutOfMemory);
    }
  }

  /// Small images: several of them per tile, so that there are fewer and longer transfers, but
  /// enough tiles to overlap; at least as many as share one load of the weights.
  bool gather_images() {
    plan_.band_images = 1;
    const int64_t banks = ceiling(plan_.shape.images, plan_.bank_images);
    const int64_t image = image_bytes() * plan_.bank_images;
    const int64_t room = kImageTileElements * element_ / image;
    int64_t count = std::min(room, ceiling(banks, kTilesPerImage));
    if (plan_.bank_images > 1) count = std::max(count, std::min(banks, plan_.banks));
    for (; count >= 1; --count) {
      plan_.band_images = count * plan_.bank_images;
      if (plan_.band_images > 1 && fits()) return true;
    }
    return false;
  }

  /// Rows per tile: whole pooling windows and, if possible, whole PSUM banks.
  void cut_rows() {
    const Conv2dAxis& axis = plan_.shape.rows;
    plan_.band_outputs = 1;
    // Bytes of an image tile are affine in the convolution's rows: halo + rows * row.
    const int64_t line = image_bytes() / plan_.tile_rows();
    const int64_t row = plan_.packed ? line : line * axis.stride;
    const int64_t halo = plan_.packed ? 0 : line * (axis.reach() - axis.stride);
    int64_t rows = std::max<int64_t>(1, (kImageTileElements * element_ - halo) / row);
    const int64_t unit = std::lcm(axis.pool_stride, plan_.bank_rows);
    const int64_t share = ceiling(ceiling(axis.convolved(), kTilesPerImage), unit) * unit;
    if (plan_.shape.images == 1) rows = std::min(rows, std::max(share, kSmallestTileRows));
    // Dilated kernels have more halo rows than that; they are loaded for every tile.
    if (axis.dilation > 1 && fit_rows(std::max(rows, halo / row))) return;
    fit_rows(rows);
  }

  /// At most `rows` rows; whether they fit.
  bool fit_rows(int64_t rows) {
    const Conv2dAxis& axis = plan_.shape.rows;
    rows = std::min(rows, axis.convolved());
    for (const int64_t banked : {plan_.bank_rows * plan_.banks, plan_.bank_rows, int64_t{1}}) {
      plan_.band_outputs = rows < axis.pool ? 1 : (rows - axis.pool) / axis.pool_stride + 1;
      while (plan_.band_outputs > 1 && plan_.band_rows() % banked != 0) --plan_.band_outputs;
      if (plan_.band_rows() <= rows && plan_.band_rows() % banked == 0 && fits()) return true;
    }
    return false;
  }

  /// Fewer rows, then parts of windows, then narrower panels; false when nothing is left.
  bool shrink() {
    const int64_t pool = plan_.shape.rows.pool;
    if (plan_.band_outputs > 1) {
      plan_.band_outputs /= 2;
    } else if (plan_.window_parts < pool) {
      do ++plan_.window_parts;
      while (pool % plan_.window_parts != 0);
    } else if (plan_.panel_outputs > 1) {
      plan_.panel_outputs = ceiling(plan_.panel_outputs, 2);
      plan_.bank_columns = balanced(plan_.panel_columns(), plan_.bank_columns);
    } else {
      return false;
    }
    plan_.bank_rows = std::min(plan_.bank_rows, plan_.band_rows());
    return true;
  }

  const Architecture& architecture_;
  const Limits& limits_;
  Conv2dPlan plan_;
  int64_t element_ = 4;
  int64_t raw_bytes_ = 0;  ///< of one set of staging tiles for weights
  int64_t free_ = 0;       ///< left for images and outputs
};

}  // namespace

int64_t Conv2dPlan::depth(int64_t block) const {
  if (packed) {
    return std::min(block_kernel_rows, shape.rows.kernel - block * block_kernel_rows) * channels;
  }
  return std::min(block_channels, channels - block * block_channels);
}

int64_t Conv2dPlan::filter_blocks() const { return ceiling(pass_filters, filter_block); }

int64_t Conv2dPlan::dense_bytes() const {
  if (!spreads_rows()) return 0;
  return kDenseRing * band_images * tile_rows() * shape.columns.extent * itemsize(shape.dtype);
}

int64_t Conv2dPlan::tile_rows() const {
  return packed ? band_rows() : shape.rows.inputs(band_rows());
}

int64_t Conv2dPlan::tile_columns() const {
  // A panel over the whole width keeps the pitch of the image, so that rows stay one run.
  if (is_wide()) return shape.columns.extent + 2 * shape.columns.padding;
  return shape.columns.inputs(panel_columns());
}

Conv2dPlan plan_conv2d(const Architecture& architecture, const Conv2dShape& shape) {
  return ForwardPlanner(architecture, shape).plan();
}

}  // namespace neuron_sim
