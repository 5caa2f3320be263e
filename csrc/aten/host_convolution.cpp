// Convolutions of a PrivateUse1 device are routed to these operators, which the boxed fallback
// cannot reach: they have a composite kernel that throws.

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <torch/library.h>

#include "csrc/aten/fallback.h"
#include "csrc/aten/host_call.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr const char* kForward = "aten::convolution_overrideable";
constexpr const char* kBackward = "aten::convolution_backward_overrideable";
constexpr const char* kReason = "it has no device kernel";

Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  check_fallback(kForward, kReason);
  HostCall call;
  const Tensor host_input = call.argument(input), host_weight = call.argument(weight);
  const std::optional<Tensor> host_bias =
      bias ? std::optional<Tensor>(call.argument(*bias)) : std::nullopt;
  const Tensor output = at::convolution(host_input, host_weight, host_bias, stride, padding,
                                        dilation, transposed, output_padding, groups);
  // The meta kernel of this operator predicts a contiguous result.
  Tensor result = call.result(output.contiguous());
  count_fallback(kForward, kReason, call.account());
  return result;
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& gradient, const Tensor& input,
                                                        const Tensor& weight, IntArrayRef stride,
                                                        IntArrayRef padding, IntArrayRef dilation,
                                                        bool transposed, IntArrayRef output_padding,
                                                        int64_t groups,
                                                        std::array<bool, 3> output_mask) {
  check_fallback(kBackward, kReason);
  HostCall call;
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  const Tensor host_gradient = call.argument(gradient);
  const Tensor host_input = call.argument(input), host_weight = call.argument(weight);
  const auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
      host_gradient, host_input, host_weight, IntArrayRef{channels}, stride, padding, dilation,
      transposed, output_padding, groups, output_mask);
  std::tuple<Tensor, Tensor, Tensor> gradients{
      call.result(input_gradient), call.result(weight_gradient), call.result(bias_gradient)};
  count_fallback(kBackward, kReason, call.account());
  return gradients;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
}

}  // namespace neuron_sim
