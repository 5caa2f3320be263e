#pragma once
// How a convolution is cut into tiles: plain numbers, no instructions.

#include <cstdint>
#include <vector>

#include "device/arch/architecture.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {

/// The sizes of one convolution followed by max pooling (pooling kernel = stride = pool).
struct Conv2dShape {
  int64_t images = 0, channels = 0, height = 0, width = 0;  ///< input [N, Cin, H, W]
  int64_t filters = 0, kernel_h = 0, kernel_w = 0;          ///< weight [Cout, Cin, KH, KW]
  int64_t stride_h = 1, stride_w = 1, padding_h = 0, padding_w = 0, pool = 1;
  int64_t output_h = 0, output_w = 0;  ///< before pooling
  Dtype dtype = Dtype::kFloat32;
};

/// `count` neighbouring intervals [start, start + size), [start + size, ...), emitted as one loop.
struct IntervalRun {
  int64_t start = 0, size = 0, count = 1;
};

/// One axis of the image: what output indices read of it.
struct Axis {
  int64_t extent = 0, kernel = 1, stride = 1, padding = 0;
  /// Whether outputs [start, start + size) read no padding.
  bool is_inside(int64_t start, int64_t size) const;
};

/// Cuts [0, total) into intervals of `size`, the remainder first (the shorter the first interval,
/// the earlier the Tensor engine starts). Neighbours of equal size that read no padding form a run.
std::vector<IntervalRun> cut(int64_t total, int64_t size, const Axis& axis);
/// The same without padding and with the remainder last.
std::vector<IntervalRun> cut(int64_t total, int64_t size);

/// The tile plan. The contraction over (channel, kernel row, kernel column) is cut into blocks of
/// at most 128 partitions: 128 channels of one kernel row, or, with few channels, several kernel
/// rows of all channels ("packed": partition = row * channels + channel).
struct Conv2dPlan {
  Conv2dShape shape;
  bool packed = false;
  int64_t blocks = 1;             ///< contraction blocks
  int64_t block_channels = 0;     ///< channels of a block (the last may have fewer)
  int64_t block_kernel_rows = 1;  ///< kernel rows of a packed block (the last may have fewer)
  int64_t tap_rows = 1;           ///< kernel rows that are taps: 1 when packed, else kernel_h
  int64_t filter_block = 0;       ///< filters of one stationary operand, at most 128
  int64_t pass_filters = 0;       ///< filters whose weights are in SBUF together
  bool weights_by_block = false;  ///< stage raw weights per contraction block, not all at once
  bool weights_by_dma = false;    ///< raw weights do not fit: transpose element by element by DMA
  int64_t band_images = 1;        ///< images of one image tile
  int64_t band_rows = 0;          ///< output rows of one image tile
  int64_t panel_columns = 0;      ///< output columns of one image tile
  int64_t window_parts = 1;       ///< image tiles that one row of pooling windows is cut into
  int64_t image_ring = 2;         ///< image tiles in flight
  int64_t bank_images = 1, bank_rows = 1, bank_columns = 1;  ///< outputs of one PSUM bank
  int64_t banks = 1;  ///< PSUM banks that share one load of the weights

  /// Partitions of contraction block `block`.
  int64_t depth(int64_t block) const;
  /// Input rows and columns of an image tile (packed: rows are output rows).
  int64_t tile_rows() const;
  int64_t tile_columns() const;
  Axis rows() const;
  Axis columns() const;
  /// Rows of one pooling window that an image tile holds.
  int64_t window_rows() const { return shape.pool / window_parts; }
};

/// Chooses the plan. KernelError (out of memory) when even the smallest tiles exceed SBUF.
Conv2dPlan plan_conv2d(const Architecture& architecture, const Conv2dShape& shape);

}  // namespace neuron_sim
