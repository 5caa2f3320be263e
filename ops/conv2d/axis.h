#pragma once
// One direction (rows or columns) of a convolution with max pooling: extents and intervals.

#include <cstdint>
#include <vector>

namespace neuron_sim {

/// Rows or columns. Three sizes: input elements, outputs of the convolution, outputs of the
/// pooling.
struct Conv2dAxis {
  int64_t extent = 0;  ///< input elements, without padding
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  int64_t pool = 1, pool_stride = 1;  ///< pooling windows; without them (1) the stride is 1
  int64_t outputs = 0;                ///< of the pooling

  /// Input elements from the first to the last tap of the kernel.
  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  /// Convolution outputs that `count` neighbouring pooling outputs need.
  int64_t convolved(int64_t count) const { return (count - 1) * pool_stride + pool; }
  /// Convolution outputs that are needed in total.
  int64_t convolved() const { return convolved(outputs); }
  /// Input elements (padding included) that `count` neighbouring convolution outputs need.
  int64_t inputs(int64_t count) const { return (count - 1) * stride + reach(); }
  /// Whether the windows touch and do not overlap.
  bool is_tiled() const { return pool == pool_stride; }
  /// Whether pooling outputs [start, start + count) read no padding.
  bool is_inside(int64_t start, int64_t count) const;
};

/// An axis for outputs = floor((convolution outputs - pool) / pool_stride) + 1, with numbers that
/// do not matter normalised: a window of 1 becomes a longer stride of the convolution, steps that
/// are never taken become 1. `room` is the rest of the padded input after the first kernel.
Conv2dAxis make_axis(Conv2dAxis axis, int64_t room);

/// `count` neighbouring intervals [start, start + size), [start + size, ...), emitted as one loop.
struct IntervalRun {
  int64_t start = 0, size = 0, count = 1;
};

/// Cuts [0, total) pooling outputs into intervals of `size`, the remainder first (the shorter the
/// first interval, the earlier the Tensor engine starts). Neighbours of equal size that read no
/// padding form a run.
std::vector<IntervalRun> cut(int64_t total, int64_t size, const Conv2dAxis& axis);
/// Cuts [0, total) into intervals of `size`, the remainder last.
std::vector<IntervalRun> cut(int64_t total, int64_t size);

}  // namespace neuron_sim
