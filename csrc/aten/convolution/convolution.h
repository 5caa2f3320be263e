#pragma once
// Convolutions of device tensors, called by the aten operators.

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>

namespace neuron_sim {

/// The arguments that describe a convolution; lists have one entry per spatial dimension.
struct ConvolutionParameters {
  at::DimVector stride, padding, dilation;
  bool transposed = false;
  at::DimVector output_padding;
  int64_t groups = 1;
};

using ConvolutionGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// Input [N, C, spatial...] with one to three spatial dimensions, fp32, fp16 or bf16; the result is
/// contiguous. Throws Refusal (csrc/aten/dispatch/device_operator.h) before anything has run.
at::Tensor device_convolution(const at::Tensor& input, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias,
                              const ConvolutionParameters& parameters);
/// Gradients for input, weight and bias, as selected by `mask`.
ConvolutionGradients device_convolution_backward(const at::Tensor& gradient,
                                                 const at::Tensor& input, const at::Tensor& weight,
                                                 const ConvolutionParameters& parameters,
                                                 std::array<bool, 3> mask);

/// The convolution on the CPU, for `reason`; raises with it in strict mode.
at::Tensor host_convolution(const at::Tensor& input, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const ConvolutionParameters& parameters, const std::string& reason);
ConvolutionGradients host_convolution_backward(const at::Tensor& gradient, const at::Tensor& input,
                                               const at::Tensor& weight,
                                               const ConvolutionParameters& parameters,
                                               std::array<bool, 3> mask, const std::string& reason);

}  // namespace neuron_sim
