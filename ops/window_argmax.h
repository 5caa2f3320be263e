#pragma once
// Which element of each pooling window is the maximum, and gradients on their way back to it.

#include <array>

#include "device/program/builder.h"

namespace neuron_sim {

/// Windows of max pooling on a tile: window (y, x) starts at (y, x) * stride.
struct PoolWindows {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1};

  int64_t elements() const { return kernel[0] * kernel[1]; }
  /// Whether two windows share elements.
  bool overlap() const { return kernel[0] > stride[0] || kernel[1] > stride[1]; }
  /// Whether `rows` x `columns` windows touch every element of that many rows and columns of a
  /// tile.
  bool cover(const std::array<int64_t, 2>& windows, const std::array<int64_t, 2>& sizes) const;
  /// Element `index` (row-major) of every window: [P, rows, columns] of a tile [P, H, W].
  View element(const View& tile, int64_t index, const std::array<int64_t, 2>& windows) const;
};

/// Scratch tiles and instructions on Vector and GpSimd.
class WindowArgmax {
 public:
  /// For at most `windows` windows on tiles of `sizes`; gradients of `dtype`.
  WindowArgmax(Builder& builder, const PoolWindows& pool, const std::array<int64_t, 2>& windows,
               const std::array<int64_t, 2>& sizes, Dtype dtype);
  /// Bytes per partition that it takes.
  static int64_t bytes(const PoolWindows& pool, const std::array<int64_t, 2>& windows,
                       const std::array<int64_t, 2>& sizes, Dtype dtype);
  /// dtype of what `distribute` writes: fp32 where windows overlap, so that sums round once.
  static Dtype result_dtype(const PoolWindows& pool, Dtype dtype);

  /// target [P, H, W] = gradients [P, rows, columns] at the first maximum of each window of the
  /// fp32 tile `values` [P, H, W] (the last NaN, if there is one), 0 elsewhere. `turn` counts
  /// calls.
  void distribute(const View& target, const View& gradients, const View& values,
                  const Affine& turn);

 private:
  void find(const View& values, const View& number, const Affine& turn);

  Builder& builder_;
  const PoolWindows pool_;
  View not_a_number_, maximum_, beats_, number_, mask_, selected_;
};

}  // namespace neuron_sim
