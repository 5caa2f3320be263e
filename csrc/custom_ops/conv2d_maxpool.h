#pragma once
// conv2d_maxpool and its gradients: what both ops check.

#include "csrc/custom_ops/custom_op.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/reference/reference.h"

namespace neuron_sim {

/// The call of conv2d_maxpool for these arguments; lists are height, width.
Invocation<Conv2dMaxpoolOptions> prepare_conv2d_maxpool(
    const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
    at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
    std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride);

/// Rows (axis 0) or columns (axis 1) of that call, whose sizes are numbers.
reference::ConvolutionAxis convolution_axis(const Invocation<Conv2dMaxpoolOptions>& call,
                                            size_t axis);

/// Gradients of input, weight and bias; those that are not `wanted` are undefined.
std::tuple<at::Tensor, at::Tensor, at::Tensor> conv2d_maxpool_gradients(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
    const at::Tensor& bias, at::IntArrayRef pool_size, at::IntArrayRef stride,
    at::IntArrayRef padding, std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride, std::array<bool, 3> wanted);

}  // namespace neuron_sim
