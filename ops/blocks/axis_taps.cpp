#include "ops/blocks/axis_taps.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace neuron_sim {
namespace {

constexpr int64_t kLargestStep = 8;  // steps of runs that are tried

std::vector<AxisTap> window(int64_t first, int64_t last, double divisor) {
  std::vector<AxisTap> taps;
  for (int64_t i = first; i < last; ++i) taps.push_back({i, 1 / divisor});
  return taps;
}

/// Adds up taps of the same input, which clamping to the border creates.
void add_tap(std::vector<AxisTap>& taps, int64_t input, double weight) {
  for (AxisTap& tap : taps) {
    if (tap.input != input) continue;
    tap.weight += weight;
    return;
  }
  taps.push_back({input, weight});
}

/// torch's cubic convolution with a = -0.75, at distances 1 + t, t, 1 - t and 2 - t.
std::array<double, 4> cubic_weights(double t) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// Inputs per output, in fp32 as torch computes it.
float inputs_per_output(int64_t extent, int64_t outputs, bool align_corners, double scale) {
  if (align_corners) {
    return outputs > 1 ? static_cast<float>(extent - 1) / static_cast<float>(outputs - 1) : 0.0F;
  }
  if (scale > 0) return static_cast<float>(1.0 / scale);
  return static_cast<float>(extent) / static_cast<float>(outputs);
}

bool continues(const std::vector<AxisTap>& taps, const std::vector<AxisTap>& next,
               int64_t& input_step, bool first) {
  if (taps.size() != next.size()) return false;
  for (size_t t = 0; t < taps.size(); ++t) {
    if (taps[t].weight != next[t].weight) return false;
    const int64_t step = next[t].input - taps[t].input;
    if (first && t == 0) input_step = step;
    if (step != input_step || step < 0) return false;
  }
  return true;
}

}  // namespace

AxisTaps average_taps(const AverageAxis& axis) {
  AxisTaps taps;
  for (int64_t o = 0; o < axis.outputs; ++o) {
    const int64_t start = o * axis.stride - axis.padding;
    const int64_t end = std::min(start + axis.kernel, axis.extent + axis.padding);
    const int64_t first = std::max<int64_t>(start, 0), last = std::min(end, axis.extent);
    const int64_t counted = axis.count_padding ? end - start : last - first;
    taps.push_back(
        window(first, last, axis.divisor != 0 ? axis.divisor : static_cast<double>(counted)));
  }
  return taps;
}

AxisTaps adaptive_average_taps(int64_t extent, int64_t outputs) {
  AxisTaps taps;
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o * extent / outputs;
    const int64_t last = ((o + 1) * extent + outputs - 1) / outputs;
    taps.push_back(window(first, last, static_cast<double>(last - first)));
  }
  return taps;
}

AxisTaps interpolation_taps(Interpolation kind, int64_t extent, int64_t outputs, bool align_corners,
                            double scale) {
  const float ratio = inputs_per_output(extent, outputs, align_corners, scale);
  AxisTaps result;
  for (int64_t o = 0; o < outputs; ++o) {
    std::vector<AxisTap> taps;
    const auto clamped = [&](int64_t i) { return std::clamp<int64_t>(i, 0, extent - 1); };
    const auto at = static_cast<float>(o);
    if (kind == Interpolation::kNearest || kind == Interpolation::kNearestExact) {
      const float position = kind == Interpolation::kNearest ? at * ratio : (at + 0.5F) * ratio;
      result.push_back({{clamped(static_cast<int64_t>(std::floor(position))), 1}});
      continue;
    }
    float position = align_corners ? at * ratio : (at + 0.5F) * ratio - 0.5F;
    if (kind == Interpolation::kLinear) {
      position = std::max(position, 0.0F);
      const int64_t input = clamped(static_cast<int64_t>(position));
      const double rest = std::min(std::max(position - static_cast<float>(input), 0.0F), 1.0F);
      add_tap(taps, input, 1 - rest);
      if (rest != 0) add_tap(taps, clamped(input + 1), rest);
    } else {
      const auto input = static_cast<int64_t>(std::floor(position));
      const std::array<double, 4> weights = cubic_weights(position - static_cast<float>(input));
      for (int64_t t = 0; t < 4; ++t) {
        add_tap(taps, clamped(input - 1 + t), weights[static_cast<size_t>(t)]);
      }
    }
    result.push_back(std::move(taps));
  }
  return result;
}

AxisTaps transposed_taps(const AxisTaps& taps, int64_t extent) {
  AxisTaps result(static_cast<size_t>(extent));
  for (size_t o = 0; o < taps.size(); ++o) {
    for (const AxisTap& tap : taps[o]) {
      result[static_cast<size_t>(tap.input)].push_back({static_cast<int64_t>(o), tap.weight});
    }
  }
  return result;
}

std::vector<TapRun> tap_runs(const AxisTaps& taps, int64_t first, int64_t count) {
  std::vector<TapRun> runs;
  std::vector<bool> done(static_cast<size_t>(count), false);
  const auto of = [&](int64_t o) -> const std::vector<AxisTap>& {
    return taps[static_cast<size_t>(first + o)];
  };
  for (int64_t o = 0; o < count; ++o) {
    if (done[static_cast<size_t>(o)]) continue;
    TapRun best{first + o, 1, 1, 0, of(o)};
    for (int64_t step = 1; step <= kLargestStep; ++step) {
      TapRun run{first + o, step, 1, 0, of(o)};
      for (int64_t next = o + step; next < count; next += step) {
        if (done[static_cast<size_t>(next)]) break;
        if (!continues(of(next - step), of(next), run.input_step, run.count == 1)) break;
        ++run.count;
      }
      if (run.count > best.count) best = run;
    }
    for (int64_t i = 0; i < best.count; ++i) done[static_cast<size_t>(o + i * best.step)] = true;
    runs.push_back(std::move(best));
  }
  return runs;
}

InputRange inputs_of(const AxisTaps& taps, int64_t first, int64_t count) {
  int64_t smallest = INT64_MAX, largest = -1;
  for (int64_t o = first; o < first + count; ++o) {
    for (const AxisTap& tap : taps[static_cast<size_t>(o)]) {
      smallest = std::min(smallest, tap.input);
      largest = std::max(largest, tap.input);
    }
  }
  if (largest < 0) return {0, 1};
  return {smallest, largest - smallest + 1};
}

int64_t most_inputs(const AxisTaps& taps, int64_t count) {
  const auto total = static_cast<int64_t>(taps.size());
  int64_t most = 1;
  for (int64_t first = 0; first < total; first += count) {
    most = std::max(most, inputs_of(taps, first, std::min(count, total - first)).count);
  }
  return most;
}

bool is_identity(const AxisTaps& taps) {
  for (size_t o = 0; o < taps.size(); ++o) {
    if (taps[o] != std::vector<AxisTap>{{static_cast<int64_t>(o), 1}}) return false;
  }
  return true;
}

}  // namespace neuron_sim
