#include "csrc/aten/convolution/convolution_taps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <c10/util/FunctionRef.h>

#include <algorithm>

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

/// Places along one axis at which a tap meets the input: outputs from `output`, the input from
/// `input` in steps of the stride.
struct Reach {
  int64_t output = 0, input = 0, count = 0;

  Reach(int64_t extent, int64_t outputs, int64_t stride, int64_t start) {
    output = start >= 0 ? 0 : (-start + stride - 1) / stride;
    input = start + output * stride;
    if (output < outputs && input < extent) {
      count = std::min(outputs - output, (extent - 1 - input) / stride + 1);
    }
  }
};

struct Tap {
  std::array<int64_t, 2> place;
  std::array<Reach, 2> reach;

  Tensor of_weight(const Tensor& weight) const {
    return weight.narrow(2, place[0], 1).narrow(3, place[1], 1);
  }
  Tensor of_output(const Tensor& output) const {
    return output.narrow(2, reach[0].output, reach[0].count)
        .narrow(3, reach[1].output, reach[1].count);
  }
  Tensor of_input(const Tensor& input, const ConvolutionParameters& parameters) const {
    Tensor part = input;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t last = reach[i].input + (reach[i].count - 1) * parameters.stride[i];
      const auto axis = static_cast<int64_t>(i) + 2;
      part = part.slice(axis, reach[i].input, last + 1, parameters.stride[i]);
    }
    return part;
  }
};

/// Calls `visit` for every tap that meets the input.
void for_each_tap(const Tensor& input, const Tensor& weight, IntArrayRef outputs,
                  const ConvolutionParameters& parameters,
                  c10::function_ref<void(const Tap&)> visit) {
  const auto reach = [&](size_t i, int64_t place) {
    const auto axis = static_cast<int64_t>(i) + 2;
    return Reach(input.size(axis), outputs[i + 2], parameters.stride[i],
                 place * parameters.dilation[i] - parameters.padding[i]);
  };
  for (int64_t row = 0; row < weight.size(2); ++row) {
    for (int64_t column = 0; column < weight.size(3); ++column) {
      const Tap tap{{row, column}, {reach(0, row), reach(1, column)}};
      if (tap.reach[0].count > 0 && tap.reach[1].count > 0) visit(tap);
    }
  }
}

ConvolutionParameters of_one_tap(const ConvolutionParameters& parameters) {
  return {{1, 1}, {0, 0}, {1, 1}, false, {0, 0}, parameters.groups};
}

}  // namespace

bool has_taps(const Tensor& weight, const ConvolutionParameters& parameters) {
  return weight.dim() == 4 && !parameters.transposed && weight.size(2) * weight.size(3) > 1;
}

Tensor convolution_by_taps(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& bias,
                           const ConvolutionParameters& parameters, IntArrayRef sizes) {
  const Tensor x = input.to(at::kFloat), w = weight.to(at::kFloat);
  const Tensor sums = at::zeros(sizes, x.options());
  if (bias && bias->defined()) sums.add_(bias->view({1, -1, 1, 1}));
  for_each_tap(x, w, sizes, parameters, [&](const Tap& tap) {
    tap.of_output(sums).add_(device_convolution(tap.of_input(x, parameters), tap.of_weight(w),
                                                std::nullopt, of_one_tap(parameters)));
  });
  return sums.to(input.scalar_type());
}

ConvolutionGradients backward_by_taps(const Tensor& gradient, const Tensor& input,
                                      const Tensor& weight, const ConvolutionParameters& parameters,
                                      std::array<bool, 3> mask) {
  const Tensor g = gradient.to(at::kFloat), x = input.to(at::kFloat), w = weight.to(at::kFloat);
  const Tensor for_input = at::zeros(x.sizes(), x.options());
  const Tensor for_weight = at::zeros(w.sizes(), w.options());
  for_each_tap(x, w, g.sizes(), parameters, [&](const Tap& tap) {
    const auto [input_part, weight_part, unused] =
        device_convolution_backward(tap.of_output(g), tap.of_input(x, parameters), tap.of_weight(w),
                                    of_one_tap(parameters), {mask[0], mask[1], false});
    if (mask[0]) tap.of_input(for_input, parameters).add_(input_part);
    if (mask[1]) tap.of_weight(for_weight).copy_(weight_part);
  });
  const at::ScalarType type = input.scalar_type();
  ConvolutionGradients gradients;
  if (mask[0]) std::get<0>(gradients) = for_input.to(type);
  if (mask[1]) std::get<1>(gradients) = for_weight.to(type);
  if (mask[2]) std::get<2>(gradients) = at::sum(g, IntArrayRef{0, 2, 3}).to(type);
  return gradients;
}

}  // namespace neuron_sim
