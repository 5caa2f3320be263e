#include "ops/conv2d/weight_gradient_plan.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"

namespace neuron_sim {
namespace {

/// Height and width in the other order.
Conv2dSizes swap_axes(Conv2dSizes sizes) {
  std::swap(sizes.input[0], sizes.input[1]);
  std::swap(sizes.kernel[0], sizes.kernel[1]);
  std::swap(sizes.output[0], sizes.output[1]);
  std::swap(sizes.geometry.stride[0], sizes.geometry.stride[1]);
  std::swap(sizes.geometry.padding[0], sizes.geometry.padding[1]);
  std::swap(sizes.geometry.dilation[0], sizes.geometry.dilation[1]);
  return sizes;
}

class WeightGradientPlanner {
 public:
  WeightGradientPlanner(const Architecture& architecture, const Conv2dSizes& sizes, Dtype dtype)
      : architecture_(architecture), limits_(architecture.limits), element_(itemsize(dtype)) {
    plan_.sizes = sizes;
  }

  WeightGradientPlan plan() {
    const Conv2dSizes swapped = swap_axes(plan_.sizes);
    if (products(swapped) < products(plan_.sizes)) {
      plan_.sizes = swapped;
      plan_.swapped = true;
    }
    cut_channels();
    cut_rows(plan_.sizes, plan_.images, plan_.rows);
    plan_.columns = plan_.sizes.output[1];
    while (bytes() > limits_.sbuf_usable.count) {
      if (!shrink()) fail_memory();
    }
    return plan_;
  }

 private:
  void cut_rows(const Conv2dSizes& sizes, int64_t& images, int64_t& rows) const {
    rows = std::min(sizes.output[0], balanced(sizes.output[0], limits_.partitions));
    images = rows < sizes.output[0]
                 ? 1
                 : std::min(std::max<int64_t>(sizes.images, 1), limits_.partitions / rows);
  }

  /// Steps of the contraction.
  int64_t products(const Conv2dSizes& sizes) const {
    int64_t images = 0, rows = 0;
    cut_rows(sizes, images, rows);
    return ceiling(sizes.images, images) * ceiling(sizes.output[0], rows) * sizes.output[1];
  }

  void cut_channels() {
    const Conv2dSizes& sizes = plan_.sizes;
    const int64_t most = std::max(sizes.group_filters(), sizes.group_channels());
    plan_.block_groups = std::clamp<int64_t>(limits_.partitions / most, 1, sizes.geometry.groups);
    plan_.block_filters =
        std::min(plan_.block_groups * sizes.group_filters(), limits_.stationary_free);
    plan_.block_channels =
        std::min(plan_.block_groups * sizes.group_channels(), limits_.partitions);
  }

  int64_t bytes() const {
    const Conv2dSizes& sizes = plan_.sizes;
    const int64_t image =
        plan_.images * plan_.input_rows(plan_.rows) * plan_.image_columns(plan_.columns);
    const int64_t gradient = plan_.partitions() * plan_.columns;
    const int64_t tap_rows = plan_.pass_tap_rows(limits_);
    const int64_t transposed = tap_rows * plan_.input_columns(plan_.columns) * plan_.block_channels;
    // Architectures that transpose on Vector take dense rows.
    const int64_t dense = architecture_.features.exact_transpose
                              ? 0
                              : plan_.input_columns(plan_.columns) * plan_.partitions();
    const int64_t result = plan_.block_channels * sizes.taps();
    return (2 * (image + gradient + transposed + plan_.columns * plan_.block_filters) + dense +
            2 * result) *
               element_ +
           2048;
  }

  /// Fewer columns, then channels, then images and rows; false when nothing is left.
  bool shrink() {
    if (plan_.columns > 1) {
      plan_.columns = ceiling(plan_.columns, 2);
    } else if (plan_.block_groups > 1) {
      plan_.block_groups = ceiling(plan_.block_groups, 2);
      plan_.block_filters = plan_.block_groups * plan_.sizes.group_filters();
      plan_.block_channels = plan_.block_groups * plan_.sizes.group_channels();
    } else if (plan_.block_channels > 1) {
      plan_.block_channels = ceiling(plan_.block_channels, 2);
    } else if (plan_.images > 1) {
      plan_.images = ceiling(plan_.images, 2);
    } else if (plan_.rows > 1) {
      plan_.rows = ceiling(plan_.rows, 2);
    } else {
      return false;
    }
    return true;
  }

  [[noreturn]] void fail_memory() const {
    const Conv2dSizes& sizes = plan_.sizes;
    const size_t height = plan_.swapped ? 1 : 0;
    fail(text("conv2d_maxpool_backward for a weight [", sizes.filters, ", ", sizes.group_channels(),
              ", ", sizes.kernel[height], ", ", sizes.kernel[1 - height], "] needs ", bytes(),
              " bytes per partition for its smallest tiles, sbuf has ", limits_.sbuf_usable.count,
              " on ", architecture_.name, "."),
         ErrorKind::kOutOfMemory);
  }

  const Architecture& architecture_;
  const Limits& limits_;
  const int64_t element_;
  WeightGradientPlan plan_;
};

}  // namespace

int64_t WeightGradientPlan::input_columns(int64_t count) const {
  if (sizes.kernel[1] == 1) return count;
  return image_columns(count);
}

int64_t WeightGradientPlan::image_columns(int64_t count) const {
  return (count - 1) * sizes.geometry.stride[1] +
         (sizes.kernel[1] - 1) * sizes.geometry.dilation[1] + 1;
}

int64_t WeightGradientPlan::input_rows(int64_t count) const {
  return (count - 1) * sizes.geometry.stride[0] +
         (sizes.kernel[0] - 1) * sizes.geometry.dilation[0] + 1;
}

std::vector<TapBank> WeightGradientPlan::banks(const Limits& limits, int64_t channels) const {
  const int64_t taps = product_columns(limits) / channels;
  const int64_t columns = std::min(taps, sizes.kernel[1]);
  const int64_t rows = columns == sizes.kernel[1] ? std::min(taps / columns, sizes.kernel[0]) : 1;
  std::vector<TapBank> result;
  for (int64_t row = 0; row < sizes.kernel[0]; row += rows) {
    for (int64_t column = 0; column < sizes.kernel[1]; column += columns) {
      result.push_back({row, std::min(rows, sizes.kernel[0] - row), column,
                        std::min(columns, sizes.kernel[1] - column)});
    }
  }
  return result;
}

int64_t WeightGradientPlan::pass_tap_rows(const Limits& limits) const {
  const std::vector<TapBank> all = banks(limits, block_channels);
  int64_t most = 0;
  for (size_t first = 0; first < all.size(); first += static_cast<size_t>(pass_banks)) {
    const TapBank& last = all[std::min(first + static_cast<size_t>(pass_banks), all.size()) - 1];
    most = std::max(most, last.row + last.rows - all[first].row);
  }
  return most;
}

WeightGradientPlan plan_weight_gradient(const Architecture& architecture, const Conv2dSizes& sizes,
                                        Dtype dtype) {
  return WeightGradientPlanner(architecture, sizes, dtype).plan();
}

}  // namespace neuron_sim
