#include "ops/blocks/axis_windows.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Taps of a window that lie in [from, to).
struct Clipped {
  int64_t first_tap, taps;
};

Clipped clip(const AxisWindows& axis, int64_t output, int64_t from, int64_t to) {
  const AxisWindows::Window& window = axis.windows[static_cast<size_t>(output)];
  const int64_t step = axis.dilation;
  const int64_t first = window.start >= from ? 0 : (from - window.start + step - 1) / step;
  const int64_t last =
      window.start >= to ? 0 : std::min(window.count, (to - 1 - window.start) / step + 1);
  return {first, std::max<int64_t>(last - first, 0)};
}

}  // namespace

int64_t AxisWindows::largest() const {
  int64_t result = 0;
  for (const Window& window : windows) result = std::max(result, window.count);
  return result;
}

AxisWindows pooling_windows(int64_t extent, int64_t outputs, int64_t kernel, int64_t stride,
                            int64_t padding, int64_t dilation) {
  AxisWindows axis{{}, extent, dilation};
  for (int64_t o = 0; o < outputs; ++o) axis.windows.push_back({o * stride - padding, kernel});
  return axis;
}

AxisWindows adaptive_windows(int64_t extent, int64_t outputs) {
  AxisWindows axis{{}, extent, 1};
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o * extent / outputs;
    axis.windows.push_back({first, ((o + 1) * extent + outputs - 1) / outputs - first});
  }
  return axis;
}

std::vector<WindowRun> window_runs(const AxisWindows& axis, int64_t first, int64_t count,
                                   int64_t from, int64_t to) {
  std::vector<WindowRun> runs;
  for (int64_t o = first; o < first + count; ++o) {
    const Clipped clipped = clip(axis, o, from, to);
    if (clipped.taps == 0) continue;
    const int64_t start = axis.windows[static_cast<size_t>(o)].start;
    const int64_t input = start + clipped.first_tap * axis.dilation;
    if (!runs.empty()) {
      WindowRun& run = runs.back();
      const int64_t last_start = run.start + (run.count - 1) * run.input_step;
      const bool neighbours = run.first + run.count == o && run.first_tap == clipped.first_tap &&
                              run.taps == clipped.taps && start > last_start;
      if (neighbours && (run.count == 1 || start - last_start == run.input_step)) {
        run.input_step = start - last_start;
        ++run.count;
        continue;
      }
    }
    runs.push_back({o, 1, start, input, 1, clipped.first_tap, clipped.taps});
  }
  return runs;
}

AxisRange window_inputs(const AxisWindows& axis, int64_t first, int64_t count) {
  int64_t smallest = axis.extent, largest = -1;
  for (int64_t o = first; o < first + count; ++o) {
    const Clipped clipped = clip(axis, o, 0, axis.extent);
    if (clipped.taps == 0) continue;
    const int64_t input =
        axis.windows[static_cast<size_t>(o)].start + clipped.first_tap * axis.dilation;
    smallest = std::min(smallest, input);
    largest = std::max(largest, input + (clipped.taps - 1) * axis.dilation);
  }
  if (largest < 0) return {0, 1};
  return {smallest, largest - smallest + 1};
}

AxisRange window_outputs(const AxisWindows& axis, int64_t first, int64_t count) {
  AxisRange range;
  for (int64_t o = 0; o < axis.outputs(); ++o) {
    if (clip(axis, o, first, first + count).taps == 0) continue;
    if (range.count == 0) range.first = o;
    range.count = o - range.first + 1;
  }
  return range;
}

bool are_disjoint(const AxisWindows& axis) {
  for (size_t o = 1; o < axis.windows.size(); ++o) {
    const AxisWindows::Window& before = axis.windows[o - 1];
    if (before.start + (before.count - 1) * axis.dilation >= axis.windows[o].start) return false;
  }
  return true;
}

}  // namespace neuron_sim
