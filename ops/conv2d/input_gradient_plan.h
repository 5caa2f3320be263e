#pragma once
// How the gradient of a convolution for its input is cut into tiles: plain numbers.

#include <algorithm>
#include <vector>

#include "ops/conv2d/geometry.h"

namespace neuron_sim {

/// Input r + stride * q of phase r gets weight[kernel] * gradient[q + offset].
struct PhaseTap {
  int64_t kernel = 0, offset = 0;
};

/// One axis of the input, by phases.
struct PhasedAxis {
  int64_t extent = 0, output = 0, stride = 1;
  std::vector<std::vector<PhaseTap>> phases;  ///< taps of phase 0, 1, ...; some have none
  int64_t first = 0, last = 0;                ///< smallest and largest offset

  /// Inputs of phase 0; no other phase has more.
  int64_t steps() const { return (extent + stride - 1) / stride; }
  /// Inputs that `count` steps cover, at most all.
  int64_t inputs(int64_t count) const { return std::min(count * stride, extent); }
  /// Adjacent elements of the gradient that `count` steps read.
  int64_t reach(int64_t count) const { return count + last - first; }
  /// Steps of [start, start + count) in phase `phase`.
  int64_t steps_of(int64_t phase, int64_t start, int64_t count) const;
};
PhasedAxis phased_axis(const Conv2dSizes& sizes, size_t axis);

/// `count` neighbouring bands of `size` steps from `start`; a loop when they are identical.
struct BandRun {
  int64_t start = 0, size = 0, count = 1;
};
/// Bands of at most `size` steps. Those that read no padding and store all phases form a run.
std::vector<BandRun> cut_bands(const PhasedAxis& axis, int64_t size);

struct InputGradientPlan {
  std::array<PhasedAxis, 2> axes;
  int64_t set_groups = 1;          ///< groups that share the array
  int64_t filter_blocks = 1;       ///< blocks of 128 contracted output channels of a set
  int64_t block_channels = 0;      ///< input channels whose weights are in SBUF together
  int64_t images = 1;              ///< of a band
  std::array<int64_t, 2> steps{};  ///< of a band
  int64_t image_ring = 3;
  int64_t bank_images = 1, bank_rows = 1;  ///< steps of one PSUM bank; all columns of a band
};

/// KernelError (out of memory) when even the smallest tiles exceed SBUF.
InputGradientPlan plan_input_gradient(const Architecture& architecture, const Conv2dSizes& sizes,
                                      Dtype dtype);

}  // namespace neuron_sim
