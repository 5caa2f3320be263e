#include "csrc/aten/convolution/convolution3d.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/zeros.h>

namespace neuron_sim {
namespace {

using at::Tensor;

/// Height and width.
ConvolutionParameters within_frames(const ConvolutionParameters& parameters) {
  const auto last = [](const at::DimVector& list) {
    return at::DimVector(list.begin() + 1, list.end());
  };
  return {last(parameters.stride), last(parameters.padding),        last(parameters.dilation),
          parameters.transposed,   last(parameters.output_padding), parameters.groups};
}

/// The depth of a convolution: frames [start, start + reach) of the padded input make an output.
struct Depth {
  int64_t kernel, stride, padding, dilation;

  Depth(const Tensor& weight, const ConvolutionParameters& parameters)
      : kernel(weight.size(2)),
        stride(parameters.stride[0]),
        padding(parameters.padding[0]),
        dilation(parameters.dilation[0]) {}
  int64_t reach() const { return dilation * (kernel - 1) + 1; }

  /// [N, C, D, H, W] as [N * OD, C * KD, H, W].
  Tensor gather(const Tensor& input) const {
    const Tensor padded =
        padding == 0 ? input : at::constant_pad_nd(input, {0, 0, 0, 0, padding, padding});
    const Tensor frames = padded.unfold(2, reach(), stride).slice(5, 0, reach(), dilation);
    return frames.permute({0, 2, 1, 5, 3, 4})
        .reshape(
            {input.size(0) * frames.size(2), input.size(1) * kernel, input.size(3), input.size(4)});
  }
  /// [N * OD, C * KD, H, W] summed into [N, C, depth, H, W].
  Tensor scatter(const Tensor& frames, int64_t images, int64_t depth) const {
    const int64_t outputs = frames.size(0) / images, channels = frames.size(1) / kernel;
    const int64_t height = frames.size(2), width = frames.size(3);
    const Tensor whole = frames.view({images, outputs, channels, kernel, height, width});
    const Tensor padded =
        at::zeros({images, channels, depth + 2 * padding, height, width}, frames.options());
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t first = k * dilation;
      padded.slice(2, first, first + (outputs - 1) * stride + 1, stride)
          .add_(whole.select(3, k).permute({0, 2, 1, 3, 4}));
    }
    return padded.narrow(2, padding, depth).contiguous();
  }
};

/// [N, C, D, H, W] as [N * D, C, H, W], and back.
Tensor frames_of(const Tensor& volume) {
  return volume.permute({0, 2, 1, 3, 4})
      .reshape({volume.size(0) * volume.size(2), volume.size(1), volume.size(3), volume.size(4)});
}
Tensor volume_of(const Tensor& frames, int64_t images) {
  return frames
      .view({images, frames.size(0) / images, frames.size(1), frames.size(2), frames.size(3)})
      .permute({0, 2, 1, 3, 4})
      .contiguous();
}

/// The depth of the kernel as channels.
Tensor flat_weight(const Tensor& weight) { return weight.flatten(1, 2); }

}  // namespace

Tensor convolution_3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                      const ConvolutionParameters& parameters) {
  const Depth depth(weight, parameters);
  const ConvolutionParameters frames = within_frames(parameters);
  const int64_t images = input.size(0);
  if (!parameters.transposed) {
    return volume_of(device_convolution(depth.gather(input), flat_weight(weight), bias, frames),
                     images);
  }
  const Tensor parts =
      device_convolution(frames_of(input), flat_weight(weight), std::nullopt, frames);
  const int64_t outputs = (input.size(2) - 1) * depth.stride - 2 * depth.padding + depth.reach() +
                          parameters.output_padding[0];
  TORCH_CHECK(outputs > 0, "Given an input depth of ", input.size(2), ", the output depth is ",
              outputs, ". Output size is too small");
  const Tensor result = depth.scatter(parts, images, outputs);
  if (bias && bias->defined()) result.add_(bias->view({1, -1, 1, 1, 1}));
  return result;
}

ConvolutionGradients backward_3d(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                 const ConvolutionParameters& parameters,
                                 std::array<bool, 3> mask) {
  const Depth depth(weight, parameters);
  const ConvolutionParameters frames = within_frames(parameters);
  const int64_t images = input.size(0);
  const bool transposed = parameters.transposed;
  auto [for_input, for_weight, for_bias] = device_convolution_backward(
      transposed ? depth.gather(gradient) : frames_of(gradient),
      transposed ? frames_of(input) : depth.gather(input), flat_weight(weight), frames,
      {mask[0], mask[1], mask[2] && !transposed});
  if (mask[0]) {
    for_input =
        transposed ? volume_of(for_input, images) : depth.scatter(for_input, images, input.size(2));
  }
  if (mask[1]) for_weight = for_weight.view(weight.sizes());
  if (mask[2] && transposed) for_bias = gradient.sum(at::IntArrayRef{0, 2, 3, 4});
  return {for_input, for_weight, for_bias};
}

}  // namespace neuron_sim
