#pragma once
// Rectangles of outputs that max pooling and its gradient handle at once.

#include <functional>

#include "device/builder/builder.h"
#include "ops/blocks/plane_tiles.h"
#include "ops/pooling/max_pool.h"

namespace neuron_sim {

/// Outputs whose windows start equally far apart and are cut alike.
struct PoolRegion {
  const WindowRun &rows, &columns;
  const PoolingWindows& windows;

  /// The region of a tile [P, G, rows, columns] whose first element is output (row, column).
  View of_outputs(const View& tile, int64_t row, int64_t column) const;
  /// Element (tap_row, tap_column) of every window, in a tile whose first element is input (row,
  /// column).
  View of_inputs(const View& tile, int64_t row, int64_t column, int64_t tap_row,
                 int64_t tap_column) const;
  /// Index of an element of a window relative to the window's start.
  double offset(int64_t tap_row, int64_t tap_column) const;
  /// body(tap_row, tap_column) over the elements in row-major order.
  void for_taps(const std::function<void(int64_t, int64_t)>& body) const;
};

/// body of every region of the outputs whose windows have elements among the inputs.
void for_regions(const PoolingWindows& windows, const PlaneWindow& outputs,
                 const PlaneWindow& inputs, const std::function<void(const PoolRegion&)>& body);

/// Fills an fp32 tile [P, rows * columns] with the index of the first element of every window of
/// those outputs; before the start of the plane it may be negative.
void emit_window_starts(Builder& builder, const PoolingWindows& windows, const PlaneWindow& outputs,
                        const View& tile);

/// KernelError when indices of the plane are not exact in fp32.
void check_plane(std::string_view op, const PoolingWindows& windows);

}  // namespace neuron_sim
