#include "ops/conv2d/input_gradient_plan.h"

#include <algorithm>

#include "device/base/errors.h"
#include "ops/blocks/tiles.h"
#include "ops/conv2d/plan.h"

namespace neuron_sim {
namespace {

// As in the forward op: bands that let loads overlap with products.
constexpr int64_t kBandsPerImage = 4;
constexpr int64_t kSmallestSteps = 8;

class InputGradientPlanner {
 public:
  InputGradientPlanner(const Architecture& architecture, const Conv2dSizes& sizes, Dtype dtype)
      : architecture_(architecture), sizes_(sizes), element_(itemsize(dtype)) {}

  InputGradientPlan plan() {
    const Limits& limits = architecture_.limits;
    plan_.axes = {phased_axis(sizes_, 0), phased_axis(sizes_, 1)};
    const int64_t most = std::max(sizes_.group_filters(), sizes_.group_channels());
    plan_.set_groups = std::clamp<int64_t>(limits.partitions / most, 1, sizes_.geometry.groups);
    plan_.filter_blocks = ceiling(plan_.set_groups * sizes_.group_filters(), limits.partitions);
    plan_.block_channels =
        std::min(plan_.set_groups * sizes_.group_channels(), limits.stationary_free);
    while (weight_bytes() > limits.sbuf_usable.count / 3 && shrink_weights()) {
    }
    cut();
    while (!fits()) {
      if (!shrink()) fail_memory();
    }
    cut_banks();
    return plan_;
  }

 private:
  int64_t weight_bytes() const {
    const int64_t dense = plan_.set_groups > 1 ? sizes_.group_channels() : 0;
    return (plan_.filter_blocks * plan_.block_channels + dense) * sizes_.taps() * element_ +
           (plan_.set_groups > 1 ? plan_.set_groups * element_ : 0);
  }
  /// Fewer groups at a time, or fewer channels of one.
  bool shrink_weights() {
    if (plan_.set_groups > 1) {
      plan_.set_groups = ceiling(plan_.set_groups, 2);
      plan_.block_channels = plan_.set_groups * sizes_.group_channels();
    } else if (plan_.block_channels > 1) {
      plan_.block_channels = ceiling(plan_.block_channels, 2);
    } else {
      return false;
    }
    return true;
  }
  int64_t tile_elements() const {
    return plan_.filter_blocks * plan_.images * plan_.axes[0].reach(plan_.steps[0]) *
           plan_.axes[1].reach(plan_.steps[1]);
  }
  int64_t bytes() const {
    const int64_t staged =
        plan_.images * plan_.axes[0].inputs(plan_.steps[0]) * plan_.axes[1].inputs(plan_.steps[1]);
    return (plan_.image_ring * tile_elements() + 2 * staged) * element_ + 2 * weight_bytes() + 2048;
  }
  bool fits() const { return bytes() <= architecture_.limits.sbuf_usable.count; }

  void cut() {
    plan_.steps = {plan_.axes[0].steps(),
                   std::min(plan_.axes[1].steps(), product_columns(architecture_.limits))};
    const int64_t image = tile_elements();
    if (image <= kImageTileElements) {
      plan_.images = std::clamp<int64_t>(kImageTileElements / image, 1,
                                         ceiling(sizes_.images, kBandsPerImage));
    }
    if (sizes_.images == 1) {
      plan_.steps[0] = std::min(plan_.steps[0],
                                std::max(kSmallestSteps, ceiling(plan_.steps[0], kBandsPerImage)));
    }
    while (tile_elements() > kImageTileElements && plan_.images == 1 &&
           plan_.steps[0] > kSmallestSteps) {
      plan_.steps[0] = ceiling(plan_.steps[0], 2);
    }
  }

  /// Fewer images, rows, then columns, then channels; false when nothing is left.
  bool shrink() {
    int64_t* const sizes[] = {&plan_.images, &plan_.steps[0], &plan_.steps[1]};
    for (int64_t* size : sizes) {
      if (*size == 1) continue;
      *size = ceiling(*size, 2);
      return true;
    }
    return shrink_weights();
  }

  [[noreturn]] void fail_memory() const {
    fail(text("conv2d_maxpool_backward for an input [", sizes_.images, ", ", sizes_.channels, ", ",
              sizes_.input[0], ", ", sizes_.input[1], "] and a kernel ", sizes_.kernel[0], " x ",
              sizes_.kernel[1], " needs ", bytes(), " bytes per partition for its smallest tiles, ",
              "sbuf has ", architecture_.limits.sbuf_usable.count, " on ", architecture_.name, "."),
         ErrorKind::kOutOfMemory);
  }

  void cut_banks() {
    const int64_t columns = product_columns(architecture_.limits);
    plan_.bank_rows = std::min(plan_.steps[0], columns / plan_.steps[1]);
    if (plan_.bank_rows < plan_.steps[0]) return;
    plan_.bank_images = std::min(plan_.images, columns / (plan_.steps[0] * plan_.steps[1]));
  }

  const Architecture& architecture_;
  const Conv2dSizes& sizes_;
  const int64_t element_;
  InputGradientPlan plan_;
};

}  // namespace

int64_t PhasedAxis::steps_of(int64_t phase, int64_t start, int64_t count) const {
  return std::clamp<int64_t>(ceiling(extent - phase, stride) - start, 0, count);
}

PhasedAxis phased_axis(const Conv2dSizes& sizes, size_t axis) {
  const Conv2dGeometry& geometry = sizes.geometry;
  PhasedAxis result{sizes.input[axis], sizes.output[axis], geometry.stride[axis], {}};
  result.phases.resize(static_cast<size_t>(std::min(result.stride, result.extent)));
  bool any = false;
  for (int64_t k = 0; k < sizes.kernel[axis]; ++k) {
    const int64_t position = k * geometry.dilation[axis] - geometry.padding[axis];
    const int64_t phase = (position % result.stride + result.stride) % result.stride;
    if (phase >= result.extent) continue;
    const int64_t offset = (phase - position) / result.stride;
    result.phases[static_cast<size_t>(phase)].push_back({k, offset});
    result.first = any ? std::min(result.first, offset) : offset;
    result.last = any ? std::max(result.last, offset) : offset;
    any = true;
  }
  return result;
}

std::vector<BandRun> cut_bands(const PhasedAxis& axis, int64_t size) {
  std::vector<BandRun> runs;
  bool extendable = false;
  for (int64_t start = 0; start < axis.steps(); start += size) {
    const int64_t count = std::min(size, axis.steps() - start);
    const bool inside = start + axis.first >= 0 && start + count + axis.last <= axis.output &&
                        (start + count) * axis.stride <= axis.extent;
    if (inside && extendable && runs.back().size == count) {
      ++runs.back().count;
    } else {
      runs.push_back({start, count, 1});
    }
    extendable = inside;
  }
  return runs;
}

InputGradientPlan plan_input_gradient(const Architecture& architecture, const Conv2dSizes& sizes,
                                      Dtype dtype) {
  return InputGradientPlanner(architecture, sizes, dtype).plan();
}

}  // namespace neuron_sim
