#include "ops/kernels/conv2d_plan.h"

#include <algorithm>
#include <numeric>

#include "device/base/errors.h"
#include "ops/tiles.h"

namespace neuron_sim {
namespace {

// Elements per partition of one image tile: 128 partitions of them load in some 5 to 10 us, long
// enough to amortise the fixed cost of a DMA and the halo rows, short against the multiplication.
constexpr int64_t kImageTileElements = int64_t{8} * 1024;
// With less work than this many tiles per image the first load would not overlap with anything.
constexpr int64_t kTilesPerImage = 4;
constexpr int64_t kSmallestTileRows = 8;

/// The size of equal pieces of at most `limit`.
int64_t balanced(int64_t total, int64_t limit) {
  return ceiling(total, ceiling(total, std::min(total, limit)));
}

/// Bytes per partition left for images and outputs; chooses how weights are held.
class Planner {
 public:
  Planner(const Architecture& architecture, const Conv2dShape& shape)
      : architecture_(architecture), limits_(architecture.limits) {
    plan_.shape = shape;
    element_ = itemsize(shape.dtype);
  }

  Conv2dPlan plan() {
    cut_contraction();
    cut_filters();
    cut_banks();
    cut_bands();
    return plan_;
  }

 private:
  void cut_contraction() {
    const Conv2dShape& shape = plan_.shape;
    const int64_t rows = std::min(shape.kernel_h, limits_.partitions / shape.channels);
    plan_.packed = rows > 1;
    if (plan_.packed) {
      plan_.block_channels = shape.channels;
      plan_.block_kernel_rows = balanced(shape.kernel_h, rows);
      plan_.blocks = ceiling(shape.kernel_h, plan_.block_kernel_rows);
    } else {
      plan_.block_channels = std::min(shape.channels, limits_.partitions);
      plan_.blocks = ceiling(shape.channels, plan_.block_channels);
      plan_.tap_rows = shape.kernel_h;
    }
  }

  int64_t weight_bytes(int64_t filters) const {
    const int64_t tile = plan_.tap_rows * plan_.shape.kernel_w * plan_.filter_block * element_;
    return ceiling(filters, plan_.filter_block) * plan_.blocks * ceiling(tile, 64) * 64;
  }

  /// All filters at once when their weights take at most a third of SBUF, else one block (of fewer
  /// filters if need be) after the other.
  void cut_filters() {
    const int64_t budget = limits_.sbuf_usable.count / 3;
    const Conv2dShape& shape = plan_.shape;
    plan_.filter_block = std::min(shape.filters, limits_.stationary_free);
    plan_.pass_filters = shape.filters;
    if (weight_bytes(shape.filters) > budget) {
      while (plan_.filter_block > 1 && weight_bytes(plan_.filter_block) > budget) {
        plan_.filter_block = ceiling(plan_.filter_block, 2);
      }
      plan_.pass_filters = plan_.filter_block;
    }
    const int64_t taps = shape.kernel_h * shape.kernel_w;
    const int64_t raw_budget = limits_.sbuf_usable.count / 8;
    // Besides the rows: their reordered copy, or integers in fp32 (conv2d_weights.cpp).
    const bool integers = !architecture_.features.exact_transpose && element_ == 2;
    const int64_t copy = integers ? 4 : plan_.packed ? element_ : 0;
    const int64_t block = plan_.block_channels * taps;
    int64_t raw = shape.channels * taps * element_ + block * copy;
    if (raw > raw_budget && !plan_.packed) {
      plan_.weights_by_block = true;
      raw = block * (element_ + copy);
    }
    plan_.weights_by_dma = raw > raw_budget;
    const int64_t bias = ceiling(shape.filters, plan_.filter_block) * element_;
    free_ = limits_.sbuf_usable.count - weight_bytes(plan_.pass_filters) - bias - 1024 -
            (plan_.weights_by_dma ? 0 : 2 * raw);
  }

  void cut_banks() {
    const Conv2dShape& shape = plan_.shape;
    const int64_t columns = limits_.psum_bank.count / itemsize(Dtype::kFloat32);
    const int64_t capacity = std::min(columns, limits_.moving_free);
    plan_.bank_columns = balanced(shape.output_w, capacity);
    const int64_t rows = std::max<int64_t>(1, capacity / plan_.bank_columns);
    plan_.bank_rows = balanced(shape.output_h, rows);
    const int64_t image = shape.output_h * shape.output_w;
    if (image <= capacity) {
      plan_.bank_images = balanced(shape.images, capacity / image);
    }
    // Where loading weights is not hidden, several banks share one load.
    if (!architecture_.features.hidden_weight_load) plan_.banks = limits_.psum_banks / 2;
  }

  int64_t output_bytes() const {
    const int64_t pixels = plan_.band_images * plan_.band_rows * plan_.panel_columns;
    const int64_t pooled_rows = ceiling(plan_.band_images * plan_.band_rows, plan_.shape.pool);
    const int64_t pooled_columns = ceiling(plan_.panel_columns, plan_.shape.pool);
    // staging tiles and pooled tiles with their half-pooled intermediates, two of each, and the
    // running maxima of windows that are cut
    const int64_t blocks = ceiling(plan_.pass_filters, plan_.filter_block);
    const int64_t half =
        plan_.shape.pool > 1 ? pooled_rows * (plan_.panel_columns + pooled_columns) : 0;
    return (2 * pixels + 2 * half + blocks * pooled_columns) * element_ + 512;
  }
  int64_t image_bytes() const {
    return plan_.blocks * plan_.band_images * plan_.tile_rows() * plan_.tile_columns() * element_;
  }
  bool fits() const { return plan_.image_ring * image_bytes() + output_bytes() <= free_; }

  void cut_bands() {
    const Conv2dShape& shape = plan_.shape;
    plan_.panel_columns = shape.output_w;
    plan_.band_rows = shape.output_h;
    plan_.band_images = plan_.bank_images;
    plan_.image_ring = 3;
    if (gather_images()) return;
    plan_.band_images = plan_.bank_images = 1;
    cut_rows();
    if (fits()) return;
    plan_.image_ring = 2;
    while (!fits() && shrink()) {
    }
    if (!fits()) {
      fail(text("conv2d_maxpool with input [", shape.images, ", ", shape.channels, ", ",
                shape.height, ", ", shape.width, "] and kernel ", shape.kernel_h, " x ",
                shape.kernel_w, " needs ", plan_.image_ring * image_bytes() + output_bytes(),
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

  /// Rows per tile: a multiple of the pooling window and, if possible, of whole PSUM banks.
  void cut_rows() {
    const int64_t pool = plan_.shape.pool;
    plan_.band_rows = 1;
    const int64_t one = image_bytes();
    plan_.band_rows = 2;
    const int64_t row = image_bytes() - one;
    const int64_t halo = one - row;
    int64_t rows = std::max<int64_t>(1, (kImageTileElements * element_ - halo) / row);
    const int64_t unit = std::lcm(pool, plan_.bank_rows);
    const int64_t share = ceiling(ceiling(plan_.shape.output_h, kTilesPerImage), unit) * unit;
    if (plan_.shape.images == 1) rows = std::min(rows, std::max(share, kSmallestTileRows));
    rows = std::min(rows, plan_.shape.output_h);
    for (const int64_t step : {std::lcm(pool, plan_.bank_rows * plan_.banks), unit, pool}) {
      plan_.band_rows = std::max(step, rows / step * step);
      if (step <= rows && fits()) return;
    }
  }

  /// Fewer rows, then parts of windows, then narrower panels; false when nothing is left.
  bool shrink() {
    const int64_t pool = plan_.shape.pool;
    if (plan_.band_rows > pool) {
      plan_.band_rows = plan_.band_rows / pool / 2 * pool;
      plan_.band_rows = std::max(plan_.band_rows, pool);
    } else if (plan_.window_parts < pool && plan_.band_rows > 1) {
      do ++plan_.window_parts;
      while (pool % plan_.window_parts != 0);
      plan_.band_rows = pool / plan_.window_parts;
    } else if (plan_.panel_columns > pool) {
      plan_.panel_columns = ceiling(plan_.panel_columns / pool, 2) * pool;
      plan_.bank_columns = balanced(plan_.panel_columns, plan_.bank_columns);
    } else {
      return false;
    }
    plan_.bank_rows = std::min(plan_.bank_rows, plan_.band_rows);
    return true;
  }

  const Architecture& architecture_;
  const Limits& limits_;
  Conv2dPlan plan_;
  int64_t element_ = 4;
  int64_t free_ = 0;
};

}  // namespace

bool Axis::is_inside(int64_t start, int64_t size) const {
  const int64_t first = start * stride - padding;
  return first >= 0 && first + (size - 1) * stride + kernel <= extent;
}

std::vector<IntervalRun> cut(int64_t total, int64_t size, const Axis& axis) {
  std::vector<IntervalRun> runs;
  int64_t next = total % size != 0 ? total % size : size;
  for (int64_t start = 0; start < total; start += next, next = size) {
    if (!runs.empty()) {
      IntervalRun& last = runs.back();
      if (last.size == next && axis.is_inside(last.start, last.size) &&
          axis.is_inside(start, next)) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({start, next, 1});
  }
  return runs;
}

std::vector<IntervalRun> cut(int64_t total, int64_t size) {
  std::vector<IntervalRun> runs;
  if (total / size > 0) runs.push_back({0, size, total / size});
  if (total % size > 0) runs.push_back({total - total % size, total % size, 1});
  return runs;
}

int64_t Conv2dPlan::depth(int64_t block) const {
  if (packed) {
    return std::min(block_kernel_rows, shape.kernel_h - block * block_kernel_rows) * shape.channels;
  }
  return std::min(block_channels, shape.channels - block * block_channels);
}

int64_t Conv2dPlan::tile_rows() const {
  return packed ? band_rows : (band_rows - 1) * shape.stride_h + shape.kernel_h;
}

int64_t Conv2dPlan::tile_columns() const {
  // A panel over the whole width keeps the pitch of the image, so that rows stay one run.
  if (panel_columns == shape.output_w) return shape.width + 2 * shape.padding_w;
  return (panel_columns - 1) * shape.stride_w + shape.kernel_w;
}

Axis Conv2dPlan::rows() const {
  return {shape.height, shape.kernel_h, shape.stride_h, shape.padding_h};
}
Axis Conv2dPlan::columns() const {
  return {shape.width, shape.kernel_w, shape.stride_w, shape.padding_w};
}

Conv2dPlan plan_conv2d(const Architecture& architecture, const Conv2dShape& shape) {
  return Planner(architecture, shape).plan();
}

}  // namespace neuron_sim
