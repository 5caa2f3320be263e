#pragma once
// How a convolution is cut into tiles: plain numbers, no instructions.

#include <cstdint>
#include <vector>

#include "device/arch/architecture.h"
#include "device/numerics/dtype.h"
#include "ops/conv2d/axis.h"

namespace neuron_sim {

/// Elements per partition of one image tile: 128 partitions of them load in some 5 to 10 us, long
/// enough to amortise the fixed cost of a DMA and the halo rows, short next to the multiplication.
inline constexpr int64_t kImageTileElements = int64_t{8} * 1024;

/// The sizes of one convolution followed by max pooling. Channels and filters are per group.
struct Conv2dShape {
  int64_t images = 0, groups = 1;
  int64_t channels = 0, filters = 0;  ///< input [N, groups * channels, H, W]
  Conv2dAxis rows, columns;           ///< weight [groups * filters, channels, KH, KW]
  Dtype dtype = Dtype::kFloat32;
  std::vector<Dtype> output_dtypes{Dtype::kFloat32};  ///< of more than one only without pooling
  Dtype bias_dtype = Dtype::kFloat32;                 ///< `dtype` or fp32
  /// The filters of a weight are contiguous in memory, so that it loads with its channels on
  /// partitions.
  bool weights_by_channel = false;
  // What an expression that follows needs (follower.h):
  int64_t follower_tile_bytes = 0;   ///< per output, of operands
  int64_t follower_value_bytes = 0;  ///< per element of a bank, of values in between
  int64_t filter_values = 0;         ///< operands of one fp32 value per filter

  bool is_pooled() const { return rows.pool * columns.pool > 1; }
  int64_t taps() const { return rows.kernel * columns.kernel; }
  /// Bytes per output in all tensors.
  int64_t output_bytes() const {
    int64_t bytes = 0;
    for (const Dtype dtype : output_dtypes) bytes += itemsize(dtype);
    return bytes;
  }
};

/// Tiles that rows are spread from, in flight.
inline constexpr int kDenseRing = 2;

/// The tile plan. The contraction over (channel, kernel row, kernel column) is cut into blocks of
/// at most 128 partitions: 128 channels of one kernel row, or, with few channels, several kernel
/// rows of all channels ("packed": partition = row * channels + channel).
///
/// Groups of few channels and filters share the array: a set of them is one convolution whose
/// weights are zero between groups.
struct Conv2dPlan {
  Conv2dShape shape;
  int64_t set_groups = 1;             ///< groups of a set
  int64_t sets = 1;                   ///< full sets; further groups need a separate plan
  int64_t channels = 0, filters = 0;  ///< of a set
  int64_t weight_sets = 1;            ///< sets whose weights are in SBUF together
  bool packed = false;
  int64_t blocks = 1;             ///< contraction blocks
  int64_t block_channels = 0;     ///< channels of a block (the last may have fewer)
  int64_t block_kernel_rows = 1;  ///< kernel rows of a packed block (the last may have fewer)
  int64_t tap_rows = 1;           ///< kernel rows that are taps: 1 when packed, else kernel_h
  int64_t filter_block = 0;       ///< filters of one stationary operand, at most 128
  int64_t pass_filters = 0;       ///< filters whose weights are in SBUF together
  bool weights_by_block = false;  ///< stage raw weights per contraction block, not all at once
  /// Load weights with their channels on partitions: they lie so (Conv2dShape), or else element by
  /// element, because raw weights do not fit.
  bool weights_by_dma = false;
  int64_t band_images = 1;    ///< images of one image tile
  int64_t band_outputs = 0;   ///< rows of the result per image tile
  int64_t panel_outputs = 0;  ///< columns of the result per image tile
  int64_t window_parts = 1;   ///< image tiles that one row of pooling windows is cut into
  int64_t image_ring = 2;     ///< image tiles in flight
  /// Rows with padding are shorter than a descriptor should be: whole images load without it, and
  /// a copy on chip spreads their rows.
  bool short_rows = false;
  int64_t bank_images = 1, bank_rows = 1, bank_columns = 1;  ///< outputs of one PSUM bank
  int64_t banks = 1;  ///< PSUM banks that share one load of the weights

  /// Partitions of contraction block `block`.
  int64_t depth(int64_t block) const;
  /// Filter blocks of a pass, and of them those whose weights share an SBUF tile: all that load
  /// together.
  int64_t filter_blocks() const;
  int64_t tile_filter_blocks() const { return shape.weights_by_channel ? filter_blocks() : 1; }
  /// SBUF tiles that the weights of a pass take.
  int64_t weight_tiles() const { return filter_blocks() / tile_filter_blocks() * blocks; }
  /// Rows of one pooling window that an image tile holds.
  int64_t window_rows() const { return shape.rows.pool / window_parts; }
  /// Outputs of the convolution, before pooling, per image tile.
  int64_t band_rows() const {
    return window_parts > 1 ? window_rows() : shape.rows.convolved(band_outputs);
  }
  int64_t panel_columns() const { return shape.columns.convolved(panel_outputs); }
  /// Whether image tiles span the whole width.
  bool is_wide() const { return panel_outputs == shape.columns.outputs; }
  bool spreads_rows() const { return short_rows && is_wide(); }
  /// Bytes per partition of the tiles that rows are spread from.
  int64_t dense_bytes() const;
  /// Whether an image tile holds whole images.
  bool is_whole() const {
    return is_wide() && window_parts == 1 && band_outputs == shape.rows.outputs;
  }
  /// Input rows and columns of an image tile (packed: rows are output rows).
  int64_t tile_rows() const;
  int64_t tile_columns() const;
};

/// Chooses the plan of as many sets of groups as are equal. KernelError (out of memory) when even
/// the smallest tiles exceed SBUF.
Conv2dPlan plan_conv2d(const Architecture& architecture, const Conv2dShape& shape);

}  // namespace neuron_sim
