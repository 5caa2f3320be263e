// Convolutions that no device kernel takes run on the CPU.

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "csrc/aten/convolution/convolution.h"
#include "csrc/aten/dispatch/fallback.h"
#include "csrc/aten/dispatch/host_call.h"

namespace neuron_sim {
namespace {

constexpr const char* kForward = "aten::convolution_overrideable";
constexpr const char* kBackward = "aten::convolution_backward_overrideable";

}  // namespace

using at::IntArrayRef;
using at::Tensor;

Tensor host_convolution(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const ConvolutionParameters& parameters,
                        const std::string& reason) {
  check_fallback(kForward, reason);
  HostCall call;
  const Tensor host_input = call.argument(input), host_weight = call.argument(weight);
  const std::optional<Tensor> host_bias =
      bias ? std::optional<Tensor>(call.argument(*bias)) : std::nullopt;
  const Tensor output = at::convolution(
      host_input, host_weight, host_bias, parameters.stride, parameters.padding,
      parameters.dilation, parameters.transposed, parameters.output_padding, parameters.groups);
  // The meta kernel of this operator predicts a contiguous result.
  Tensor result = call.result(output.contiguous());
  count_fallback(kForward, reason, call.account());
  return result;
}

ConvolutionGradients host_convolution_backward(const Tensor& gradient, const Tensor& input,
                                               const Tensor& weight,
                                               const ConvolutionParameters& parameters,
                                               std::array<bool, 3> mask,
                                               const std::string& reason) {
  check_fallback(kBackward, reason);
  HostCall call;
  const int64_t channels =
      parameters.transposed ? weight.size(1) * parameters.groups : weight.size(0);
  const Tensor host_gradient = call.argument(gradient);
  const Tensor host_input = call.argument(input), host_weight = call.argument(weight);
  const auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
      host_gradient, host_input, host_weight, IntArrayRef{channels}, parameters.stride,
      parameters.padding, parameters.dilation, parameters.transposed, parameters.output_padding,
      parameters.groups, mask);
  ConvolutionGradients gradients{call.result(input_gradient), call.result(weight_gradient),
                                 call.result(bias_gradient)};
  count_fallback(kBackward, reason, call.account());
  return gradients;
}

}  // namespace neuron_sim
