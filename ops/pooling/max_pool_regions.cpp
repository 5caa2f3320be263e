#include "ops/pooling/max_pool_regions.h"

#include "device/base/errors.h"
#include "device/isa/movement/iota.h"

namespace neuron_sim {

View PoolRegion::of_outputs(const View& tile, int64_t row, int64_t column) const {
  return tile.slice(2, rows.first - row, rows.count)
      .slice(3, columns.first - column, columns.count);
}

View PoolRegion::of_inputs(const View& tile, int64_t row, int64_t column, int64_t tap_row,
                           int64_t tap_column) const {
  const int64_t down = (tap_row - rows.first_tap) * windows.rows.dilation;
  const int64_t across = (tap_column - columns.first_tap) * windows.columns.dilation;
  return tile.slice(2, rows.input + down - row, rows.count, rows.input_step)
      .slice(3, columns.input + across - column, columns.count, columns.input_step);
}

double PoolRegion::offset(int64_t tap_row, int64_t tap_column) const {
  return static_cast<double>(tap_row * windows.rows.dilation * windows.columns.extent +
                             tap_column * windows.columns.dilation);
}

void PoolRegion::for_taps(const std::function<void(int64_t, int64_t)>& body) const {
  for (int64_t y = rows.first_tap; y < rows.first_tap + rows.taps; ++y) {
    for (int64_t x = columns.first_tap; x < columns.first_tap + columns.taps; ++x) body(y, x);
  }
}

void for_regions(const PoolingWindows& windows, const PlaneWindow& outputs,
                 const PlaneWindow& inputs, const std::function<void(const PoolRegion&)>& body) {
  const auto rows =
      window_runs(windows.rows, outputs.row, outputs.rows, inputs.row, inputs.row + inputs.rows);
  const auto columns = window_runs(windows.columns, outputs.column, outputs.columns, inputs.column,
                                   inputs.column + inputs.columns);
  for (const WindowRun& row : rows) {
    for (const WindowRun& column : columns) body({row, column, windows});
  }
}

void emit_window_starts(Builder& builder, const PoolingWindows& windows, const PlaneWindow& outputs,
                        const View& tile) {
  const View plane =
      tile.slice(1, 0, outputs.rows * outputs.columns).split(1, outputs.rows, outputs.columns);
  const PlaneWindow all{0, windows.rows.extent, 0, windows.columns.extent};
  for_regions(windows, outputs, all, [&](const PoolRegion& region) {
    const int64_t width = windows.columns.extent;
    const View target = plane.slice(1, region.rows.first - outputs.row, region.rows.count)
                            .slice(2, region.columns.first - outputs.column, region.columns.count);
    builder.emit(Iota{.dst = target,
                      .pattern = {{region.rows.input_step * width, region.rows.count},
                                  {region.columns.input_step, region.columns.count}},
                      .offset = region.rows.start * width + region.columns.start});
  });
}

void check_plane(std::string_view op, const PoolingWindows& windows) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  const int64_t elements = windows.rows.extent * windows.columns.extent;
  if (elements > kLargest) {
    fail(text(op, ": a plane of ", elements, " elements has more than the ", kLargest,
              " whose indices fp32 holds exactly."));
  }
}

}  // namespace neuron_sim
