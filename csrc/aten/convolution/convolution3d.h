#pragma once
// Convolutions of three spatial dimensions as two-dimensional ones: the depth of the kernel becomes
// channels of a copy of the input, in which every output frame has the frames that it reads.

#include "csrc/aten/convolution/convolution.h"

namespace neuron_sim {

/// Input [N, C, D, H, W], weight [Cout, C / groups, KD, KH, KW] (transposed: [C, Cout / groups, KD,
/// KH, KW]).
at::Tensor convolution_3d(const at::Tensor& input, const at::Tensor& weight,
                          const std::optional<at::Tensor>& bias,
                          const ConvolutionParameters& parameters);
ConvolutionGradients backward_3d(const at::Tensor& gradient, const at::Tensor& input,
                                 const at::Tensor& weight, const ConvolutionParameters& parameters,
                                 std::array<bool, 3> mask);

}  // namespace neuron_sim
