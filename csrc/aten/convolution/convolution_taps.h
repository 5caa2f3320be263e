#pragma once
// Convolutions whose windows SBUF cannot hold, tap by tap of the kernel.
//
// Algorithm: a tap is a convolution of 1 x 1 of the part of the input that it meets, added to the
// part of the output that it reaches, in fp32 and rounded once. Taps that meet only padding
// (DeepLab: dilations beyond the image) cost nothing.

#include "csrc/aten/convolution/convolution.h"

namespace neuron_sim {

/// Whether there is more than one tap to take apart: two spatial dimensions, not transposed.
bool has_taps(const at::Tensor& weight, const ConvolutionParameters& parameters);

/// device_convolution() of [N, C, H, W], into `sizes`.
at::Tensor convolution_by_taps(const at::Tensor& input, const at::Tensor& weight,
                               const std::optional<at::Tensor>& bias,
                               const ConvolutionParameters& parameters, at::IntArrayRef sizes);

/// device_convolution_backward() of it.
ConvolutionGradients backward_by_taps(const at::Tensor& gradient, const at::Tensor& input,
                                      const at::Tensor& weight,
                                      const ConvolutionParameters& parameters,
                                      std::array<bool, 3> mask);

}  // namespace neuron_sim
