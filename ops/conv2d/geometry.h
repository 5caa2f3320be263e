#pragma once
// The numbers of a convolution that its gradients share; index 0 is height, index 1 is width.

#include <array>
#include <cstdint>
#include <string_view>

#include "device/arch/architecture.h"
#include "ops/contract/tensor_spec.h"

namespace neuron_sim {

/// Options of torch.nn.functional.conv2d.
struct Conv2dGeometry {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
  static constexpr std::array kFields{"stride", "padding", "dilation", "groups"};
};

/// KernelError (kValue) for an option out of its range.
void check_geometry(std::string_view op, const Conv2dGeometry& geometry);

/// Sizes of a convolution of input [N, Cin, H, W] with weight [Cout, Cin / groups, KH, KW].
struct Conv2dSizes {
  Conv2dGeometry geometry;
  int64_t images = 0, channels = 0, filters = 0;
  std::array<int64_t, 2> input{}, kernel{}, output{};

  int64_t group_channels() const { return channels / geometry.groups; }
  int64_t group_filters() const { return filters / geometry.groups; }
  int64_t taps() const { return kernel[0] * kernel[1]; }
};

/// Checks the tensors and options of the gradient `op`, whose operand `gradient` is the gradient of
/// the convolution's output. KernelError for ranks, dtypes (one of fp32, fp16, bf16 for all) and
/// sizes that do not fit together, and options as check_geometry.
Conv2dSizes conv2d_sizes(std::string_view op, const TensorSpec& gradient, const TensorSpec& input,
                         const TensorSpec& weight, const Conv2dGeometry& geometry);

}  // namespace neuron_sim
