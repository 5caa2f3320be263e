#pragma once
// Gradients of the custom ops as plain functions; custom_ops/autograd.cpp hands them to PyTorch.
// Products run as matmul kernels; the rest are PyTorch operators (on the device: CPU fallbacks,
// counted). Inputs are recomputed rather than kept. fp16 and bf16 are computed in fp32, rounded
// once.

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "csrc/custom_ops/result_sizes.h"

namespace neuron_sim {

/// Gradients of a and b of a @ b; one that is not `wanted` stays undefined.
std::pair<at::Tensor, at::Tensor> matmul_gradients(const at::Tensor& gradient, const at::Tensor& a,
                                                   const at::Tensor& b,
                                                   std::pair<bool, bool> wanted);

/// Gradients of x and bias.
std::pair<at::Tensor, at::Tensor> bias_add_activation_gradients(const at::Tensor& gradient,
                                                                const at::Tensor& x,
                                                                const at::Tensor& bias,
                                                                std::string_view activation);

/// Gradients of input, weight and bias; those that are not `wanted` may be undefined.
std::vector<at::Tensor> conv2d_maxpool_gradients(const at::Tensor& gradient,
                                                 const at::Tensor& input, const at::Tensor& weight,
                                                 const at::Tensor& bias,
                                                 const ConvolutionArguments& arguments,
                                                 std::array<bool, 3> wanted);

/// Gradients of x, all weights, all biases; `wanted` in the same order, others may be undefined.
std::vector<at::Tensor> network_gradients(const at::Tensor& gradient,
                                          const NetworkArguments& arguments,
                                          const std::vector<bool>& wanted);

}  // namespace neuron_sim
