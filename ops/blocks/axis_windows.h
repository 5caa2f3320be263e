#pragma once
// Windows of pooling along one axis, and which of their elements lie inside it.

#include <array>
#include <cstdint>
#include <vector>

namespace neuron_sim {

/// Elements start, start + dilation, ... (`count` of them) of every output's window; those off the
/// axis do not count.
struct AxisWindows {
  struct Window {
    int64_t start, count;
    static constexpr std::array kFields{"start", "count"};
  };
  std::vector<Window> windows;
  int64_t extent = 0, dilation = 1;
  static constexpr std::array kFields{"windows", "extent", "dilation"};

  int64_t outputs() const { return static_cast<int64_t>(windows.size()); }
  /// Most elements of a window.
  int64_t largest() const;
};

/// Windows of max pooling over rows and columns: of `kernel` elements each, `stride` apart from the
/// first element on, all of them inside the plane. 1: no pooling.
struct InnerWindows {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1};
};

/// Windows of `kernel` elements, `stride` apart, the first one starting `padding` before the axis.
AxisWindows pooling_windows(int64_t extent, int64_t outputs, int64_t kernel, int64_t stride,
                            int64_t padding, int64_t dilation);
/// Windows from floor(o * extent / outputs) up to ceil((o + 1) * extent / outputs).
AxisWindows adaptive_windows(int64_t extent, int64_t outputs);

/// `count` neighbouring outputs whose windows have the elements first_tap, ..., (`taps` of them) of
/// which element first_tap of the first output is input `input`; inputs move on by `input_step`
/// from output to output, and so do the starts of the windows, the first one at `start`.
struct WindowRun {
  int64_t first = 0, count = 1, start = 0, input = 0, input_step = 0, first_tap = 0, taps = 0;
};
/// Runs of the outputs [first, first + count) whose windows have elements among the inputs
/// [from, to), which lie on the axis.
std::vector<WindowRun> window_runs(const AxisWindows& axis, int64_t first, int64_t count,
                                   int64_t from, int64_t to);

/// Elements [first, first + count).
struct AxisRange {
  int64_t first = 0, count = 0;
};
/// Inputs of the outputs [first, first + count); at least one.
AxisRange window_inputs(const AxisWindows& axis, int64_t first, int64_t count);
/// Outputs that have an input among [first, first + count); possibly none.
AxisRange window_outputs(const AxisWindows& axis, int64_t first, int64_t count);
/// Whether no input is in two windows.
bool are_disjoint(const AxisWindows& axis);

}  // namespace neuron_sim
