#pragma once
// Convolutions whose windows do not fit in SBUF, one kernel tap at a time.
//
// Algorithm: a tap is a 1 x 1 convolution of the part of the input that it meets, added to the
// part of the output that it reaches, in fp32 and rounded once. Taps that meet only padding
// (DeepLab: dilations larger than the image) cost nothing.

#include "csrc/aten/convolution/convolution.h"

namespace neuron_sim {

/// Whether there is more than one tap to split into: two spatial dimensions, not transposed.
bool has_taps(const at::Tensor& weight, const ConvolutionParameters& parameters);

/// device_convolution() of [N, C, H, W], into `sizes`.
at::Tensor convolution_by_taps(const at::Tensor& input, const at::Tensor& weight,
                               const std::optional<at::Tensor>& bias,
                               const ConvolutionParameters& parameters, at::IntArrayRef sizes);

/// Its device_convolution_backward().
ConvolutionGradients backward_by_taps(const at::Tensor& gradient, const at::Tensor& input,
                                      const at::Tensor& weight,
                                      const ConvolutionParameters& parameters,
                                      std::array<bool, 3> mask);

}  // namespace neuron_sim
