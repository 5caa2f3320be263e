#pragma once
// One axis of a linear map between planes: the inputs that every output adds up, and their weights.

#include <array>
#include <cstdint>
#include <vector>

namespace neuron_sim {

struct AxisTap {
  int64_t input = 0;
  double weight = 1;
  static constexpr std::array kFields{"input", "weight"};
  bool operator==(const AxisTap&) const = default;
};

/// The taps of every output, inputs ascending.
using AxisTaps = std::vector<std::vector<AxisTap>>;

/// Outputs of an average: windows of `kernel` inputs, `stride` apart, over an axis of `extent`
/// inputs with `padding` zeros on both sides. `divisor` 0 divides by the inputs of the window (with
/// `count_padding` also by the zeros of the padding), any other value is the divisor itself.
struct AverageAxis {
  int64_t extent, outputs, kernel, stride, padding;
  bool count_padding;
  double divisor;
};
AxisTaps average_taps(const AverageAxis& axis);
/// Windows from floor(o * extent / outputs) up to ceil((o + 1) * extent / outputs).
AxisTaps adaptive_average_taps(int64_t extent, int64_t outputs);

enum class Interpolation { kNearest, kNearestExact, kLinear, kCubic };
/// Interpolated outputs as torch defines them; `scale` is the factor the caller gave (inputs per
/// output is its inverse), 0 when sizes decide. Only kLinear and kCubic align corners.
AxisTaps interpolation_taps(Interpolation kind, int64_t extent, int64_t outputs, bool align_corners,
                            double scale);

/// The transposed map: `extent` outputs, one for every input.
AxisTaps transposed_taps(const AxisTaps& taps, int64_t extent);

/// Outputs first, first + step, ... (`count` of them) with equal weights, whose inputs advance by
/// `input_step`; `taps` belong to the first one.
struct TapRun {
  int64_t first = 0, step = 1, count = 1, input_step = 0;
  std::vector<AxisTap> taps;
};
/// Cuts the outputs [first, first + count) into few runs.
std::vector<TapRun> tap_runs(const AxisTaps& taps, int64_t first, int64_t count);

/// First input and number of inputs that the outputs [first, first + count) need; at least one.
struct InputRange {
  int64_t first = 0, count = 1;
};
InputRange inputs_of(const AxisTaps& taps, int64_t first, int64_t count);
/// Most inputs of any `count` outputs that start at a multiple of `count`.
int64_t most_inputs(const AxisTaps& taps, int64_t count);
/// Whether every output is the input of the same index.
bool is_identity(const AxisTaps& taps);

}  // namespace neuron_sim
