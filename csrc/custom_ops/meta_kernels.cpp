// The custom ops without data: checks and result shapes, for meta and fake tensors.

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "csrc/custom_ops/result_sizes.h"

namespace neuron_sim {
namespace {

using at::Tensor;

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  vector_add_options({variant, row_chunk, free_dim, num_free_tiles, base_addresses});
  return at::empty_symint(vector_add_sizes(a, b), a.options());
}

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  matmul_options(variant, transpose_x);
  return at::empty_symint(matmul_sizes(a, b, transpose_x), a.options());
}

Tensor transpose(const Tensor& a, std::string_view engine) {
  transpose_engine(engine);
  return at::empty_symint(transpose_sizes(a), a.options());
}

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  return at::empty_symint(bias_add_activation_sizes(x, bias, activation), x.options());
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
                      std::string_view activation, at::IntArrayRef dilation, int64_t groups,
                      at::OptionalIntArrayRef pool_stride) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  return at::empty_symint(conv2d_maxpool_sizes(input, weight, bias, options), input.options());
}

Tensor ffnn_forward(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  return at::empty_symint(
      network_sizes("ffnn_forward", {x, weights, biases, hidden_activation, output_activation}),
      x.options());
}

Tensor ffnn_predict(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const Sizes sizes =
      network_sizes("ffnn_predict", {x, weights, biases, hidden_activation, output_activation});
  return at::empty_symint({sizes[0]}, x.options().dtype(at::kLong));
}

std::tuple<Tensor, Tensor> bias_add_activation_backward(const Tensor& gradient, const Tensor& x,
                                                        const Tensor& bias,
                                                        std::string_view activation) {
  check_bias_add_activation_backward(gradient, x, bias, activation);
  return {at::empty_symint(x.sym_sizes(), x.options()),
          at::empty_symint(bias.sym_sizes(), bias.options())};
}

std::tuple<Tensor, Tensor, Tensor> conv2d_maxpool_backward(
    const Tensor& gradient, const Tensor& input, const Tensor& weight, const Tensor& bias,
    at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
    std::string_view activation, at::IntArrayRef dilation, int64_t groups,
    at::OptionalIntArrayRef pool_stride, std::array<bool, 3> output_mask) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  check_conv2d_maxpool_backward(gradient, input, weight, bias, options);
  const auto like = [](const Tensor& operand, bool wanted) {
    return wanted ? at::empty_symint(operand.sym_sizes(), operand.options()) : Tensor();
  };
  return {like(input, output_mask[0]), like(weight, output_mask[1]), like(bias, output_mask[2])};
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, Meta, m) {
  m.impl("vector_add", vector_add);
  m.impl("matmul", matmul);
  m.impl("transpose", transpose);
  m.impl("bias_add_activation", bias_add_activation);
  m.impl("conv2d_maxpool", conv2d_maxpool);
  m.impl("ffnn_forward", ffnn_forward);
  m.impl("ffnn_predict", ffnn_predict);
  m.impl("bias_add_activation_backward", bias_add_activation_backward);
  m.impl("conv2d_maxpool_backward", conv2d_maxpool_backward);
}

}  // namespace neuron_sim
