// The backward ops on CPU tensors, as compositions of PyTorch's operators in fp32, rounded once.

#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>
#include <torch/library.h>

#include <numeric>

#include "csrc/custom_ops/activation_functions.h"
#include "csrc/custom_ops/result_sizes.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Sum over all dimensions but the last one.
Tensor sum_rows(const Tensor& tensor) {
  if (tensor.dim() == 1) return tensor;
  std::vector<int64_t> leading(static_cast<size_t>(tensor.dim() - 1));
  std::iota(leading.begin(), leading.end(), 0);
  return tensor.sum(leading);
}

std::tuple<Tensor, Tensor> bias_add_activation_backward(const Tensor& gradient, const Tensor& x,
                                                        const Tensor& bias,
                                                        std::string_view activation) {
  check_bias_add_activation_backward(gradient, x, bias, activation);
  const Tensor sum = x.to(at::kFloat) + bias.to(at::kFloat);
  const Tensor result = apply_activation(sum, activation);
  const Tensor inner = activation_gradient(gradient.to(at::kFloat), sum, result, activation);
  const Tensor x_gradient = inner.to(x.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  const Tensor bias_gradient =
      sum_rows(inner).to(x.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  return {x_gradient.contiguous(), bias_gradient.contiguous()};
}

Tensor pooling_gradient(const Tensor& gradient, const Tensor& unpooled,
                        const Conv2dMaxpoolOptions& options) {
  const at::IntArrayRef window = options.pool_kernel, step = options.pool_stride;
  const std::vector<int64_t> none = {0, 0}, unit = {1, 1};
  if (window == at::IntArrayRef(unit) && step == at::IntArrayRef(unit)) return gradient;
  const Tensor indices =
      std::get<1>(at::max_pool2d_with_indices(unpooled, window, step, none, unit, false));
  return at::max_pool2d_with_indices_backward(gradient, unpooled, window, step, none, unit,
                                              /*ceil_mode=*/false, indices);
}

std::tuple<Tensor, Tensor, Tensor> conv2d_maxpool_backward(
    const Tensor& gradient, const Tensor& input, const Tensor& weight, const Tensor& bias,
    at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
    std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride, std::array<bool, 3> output_mask) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  check_conv2d_maxpool_backward(gradient, input, weight, bias, options);
  const Tensor wide_input = input.to(at::kFloat), wide_weight = weight.to(at::kFloat);
  const Tensor sum =
      at::convolution(wide_input, wide_weight, bias.to(at::kFloat), stride, padding, dilation,
                      /*transposed=*/false, /*output_padding=*/{0, 0}, groups);
  const Tensor result = apply_activation(sum, activation);
  const Tensor unpooled = pooling_gradient(gradient.to(at::kFloat), result, options);
  const Tensor inner = activation_gradient(unpooled, sum, result, activation);
  const auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward(
      inner, wide_input, wide_weight, bias.sizes(), stride, padding, dilation,
      /*transposed=*/false, /*output_padding=*/{0, 0}, groups, output_mask);
  const auto rounded = [&](const Tensor& wide) {
    return wide.defined() ? wide.to(input.scalar_type()).contiguous() : wide;
  };
  return {rounded(input_gradient), rounded(weight_gradient), rounded(bias_gradient)};
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, CPU, m) {
  m.impl("bias_add_activation_backward", bias_add_activation_backward);
  m.impl("conv2d_maxpool_backward", conv2d_maxpool_backward);
}

}  // namespace neuron_sim
