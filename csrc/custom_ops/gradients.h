#pragma once
// Gradients of the custom ops as plain functions; custom_ops/autograd.cpp registers them with
// PyTorch. All are built from custom ops: on the device they run as its kernels. Inputs are
// recomputed rather than kept. fp16 and bf16 are computed in fp32 and rounded once per op.

#include <ATen/core/Tensor.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "csrc/custom_ops/result_sizes.h"

namespace neuron_sim {

/// The gradient of an operand of `sizes` that was broadcast to the sizes of `gradient`.
at::Tensor broadcast_gradient(const at::Tensor& gradient, c10::SymIntArrayRef sizes);

/// Gradients of a and b of a @ b; one that is not `wanted` stays undefined.
std::pair<at::Tensor, at::Tensor> matmul_gradients(const at::Tensor& gradient, const at::Tensor& a,
                                                   const at::Tensor& b,
                                                   std::pair<bool, bool> wanted);

/// Gradients of x and bias.
std::pair<at::Tensor, at::Tensor> bias_add_activation_gradients(const at::Tensor& gradient,
                                                                const at::Tensor& x,
                                                                const at::Tensor& bias,
                                                                std::string_view activation);

/// The function as an argument of the ops: the device calls the identity a copy.
std::string_view activation_argument(Activation function);

/// Gradients of input, weight and bias; those that are not `wanted` are undefined.
std::vector<at::Tensor> conv2d_maxpool_gradients(const at::Tensor& gradient,
                                                 const at::Tensor& input, const at::Tensor& weight,
                                                 const at::Tensor& bias,
                                                 const Conv2dMaxpoolOptions& options,
                                                 std::array<bool, 3> wanted);

/// Gradients of x, all weights, all biases; `wanted` in the same order, others may be undefined.
std::vector<at::Tensor> network_gradients(const at::Tensor& gradient,
                                          const NetworkArguments& arguments,
                                          const std::vector<bool>& wanted);

}  // namespace neuron_sim
