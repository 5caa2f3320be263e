#pragma once
// How the gradient of a convolution for its weight is cut into tiles: plain numbers.

#include <vector>

#include "ops/conv2d/geometry.h"

namespace neuron_sim {

/// Taps whose sums share a PSUM bank: kernel rows x kernel columns.
struct TapBank {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// Axis 0 is the one whose rows lie on partitions, axis 1 the one whose columns are steps of the
/// contraction; `swapped`: they are width and height.
struct WeightGradientPlan {
  Conv2dSizes sizes;  ///< with the axes in the order used
  bool swapped = false;
  int64_t block_groups = 1;      ///< groups that are multiplied together
  int64_t block_filters = 0;     ///< output channels of a block
  int64_t block_channels = 0;    ///< input channels of a block
  int64_t images = 1, rows = 0;  ///< on partitions together
  int64_t columns = 0;           ///< steps whose tiles are in SBUF together
  int64_t pass_banks = 4;        ///< banks of taps that accumulate together

  int64_t partitions() const { return images * rows; }
  /// Columns of the input between neighbouring steps in the transposed tile, and how many of them
  /// `count` steps read. A single kernel column needs no columns in between.
  int64_t column_step() const { return sizes.kernel[1] == 1 ? 1 : sizes.geometry.stride[1]; }
  int64_t input_columns(int64_t count) const;
  /// Rows of the input that `count` rows of the output read.
  int64_t input_rows(int64_t count) const;
  /// Input columns of an image tile.
  int64_t image_columns(int64_t count) const;
  /// The banks of `channels` input channels.
  std::vector<TapBank> banks(const Limits& limits, int64_t channels) const;
  /// Kernel rows that the banks of one pass span at most.
  int64_t pass_tap_rows(const Limits& limits) const;
};

/// KernelError (out of memory) when even the smallest tiles exceed SBUF.
WeightGradientPlan plan_weight_gradient(const Architecture& architecture, const Conv2dSizes& sizes,
                                        Dtype dtype);

}  // namespace neuron_sim
