#pragma once
// Which element of each pooling window is the maximum, and the routing of gradients back to it.

#include <array>

#include "device/builder/builder.h"

namespace neuron_sim {

/// Windows of max pooling on a tile: window (y, x) starts at (y, x) * stride.
struct PoolWindows {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1};

  int64_t elements() const { return kernel[0] * kernel[1]; }
  /// Whether two windows share elements.
  bool overlap() const { return kernel[0] > stride[0] || kernel[1] > stride[1]; }
  /// Whether the windows [P, G, rows, columns] touch every element of a tile [P, G, H, W].
  bool cover(const View& windows, const View& tile) const;
  /// Element `index` (row-major) of every window: the shape of `windows`, of a tile [P, G, H, W].
  View element(const View& tile, int64_t index, const View& windows) const;
};

/// Scratch tiles and instructions on Vector, with some on GpSimd. Operands in PSUM make a Vector
/// instruction of two fp32 operands twice as fast, so tiles go there while they fit.
class WindowArgmax {
 public:
  /// Planes in a partition, rows and columns.
  using Shape = std::array<int64_t, 3>;

  /// For at most `windows` windows on tiles of `tile`; `dtype` of the gradients.
  WindowArgmax(Builder& builder, const PoolWindows& pool, const Shape& windows, const Shape& tile,
               Dtype dtype, int ring);
  /// Bytes per partition that it takes from SBUF.
  static int64_t bytes(const Limits& limits, const PoolWindows& pool, const Shape& windows,
                       const Shape& tile, Dtype dtype, int ring);

  /// Finds the first maximum of each window of the fp32 tile `values` [P, G, H, W], or its last
  /// NaN. `windows` is any tile of the shape of the windows. Returns the maxima, fp32, which may be
  /// overwritten. `turn` counts calls.
  View find(const View& values, const View& windows, const Affine& turn);
  /// target [P, G, H, W] = the gradients [P, G, rows, columns] where `find` of this turn found the
  /// maximum, bit by bit, 0 elsewhere. Where windows overlap, target is fp32 and adds up.
  void distribute(const View& target, const View& gradients, const Affine& turn);

 private:
  Builder& builder_;
  const PoolWindows pool_;
  View not_a_number_, maximum_, beats_, number_, mask_, selected_;
};

}  // namespace neuron_sim
