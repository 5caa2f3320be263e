#include "csrc/custom_ops/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>

#include <numeric>

#include "csrc/custom_ops/activation_functions.h"
#include "csrc/neuron_sim.h"

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

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias,
                const ConvolutionArguments& arguments) {
  return at::convolution(input, weight, bias, arguments.stride, arguments.padding,
                         arguments.dilation, /*transposed=*/false, /*output_padding=*/{0, 0},
                         arguments.groups);
}

Tensor pooling_gradient(const Tensor& gradient, const Tensor& unpooled,
                        const ConvolutionArguments& arguments) {
  const at::IntArrayRef window = arguments.pool_kernel, step = arguments.pool_stride;
  const std::vector<int64_t> none = {0, 0}, unit = {1, 1};
  if (window == at::IntArrayRef(unit) && step == at::IntArrayRef(unit)) return gradient;
  const Tensor indices =
      std::get<1>(at::max_pool2d_with_indices(unpooled, window, step, none, unit, false));
  return at::max_pool2d_with_indices_backward(gradient, unpooled, window, step, none, unit,
                                              /*ceil_mode=*/false, indices);
}

/// One layer of a network, as the forward pass computed it.
struct Layer {
  Tensor input, product;
  std::string_view activation;
};

std::vector<Layer> run_layers(const NetworkArguments& arguments) {
  std::vector<Layer> layers;
  Tensor hidden = arguments.x;
  const size_t last = arguments.weights.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    const std::string_view activation =
        i == last ? arguments.output_activation : arguments.hidden_activation;
    const Tensor product = neuron_sim::matmul(hidden, arguments.weights[i]);
    layers.push_back({hidden, product, activation});
    if (i < last) hidden = bias_add_activation(product, arguments.biases[i], activation);
  }
  return layers;
}

}  // namespace

std::pair<Tensor, Tensor> matmul_gradients(const Tensor& gradient, const Tensor& a, const Tensor& b,
                                           std::pair<bool, bool> wanted) {
  return {wanted.first ? neuron_sim::matmul(gradient, b.t()) : Tensor(),
          wanted.second ? neuron_sim::matmul(a.t(), gradient) : Tensor()};
}

std::pair<Tensor, Tensor> bias_add_activation_gradients(const Tensor& gradient, const Tensor& x,
                                                        const Tensor& bias,
                                                        std::string_view activation) {
  const Tensor sum = x.to(at::kFloat) + bias.to(at::kFloat);
  const Tensor result = apply_activation(sum, activation);
  const Tensor inner = activation_gradient(gradient.to(at::kFloat), sum, result, activation);
  return {inner.to(x.scalar_type()), sum_rows(inner).to(bias.scalar_type())};
}

std::vector<Tensor> conv2d_maxpool_gradients(const Tensor& gradient, const Tensor& input,
                                             const Tensor& weight, const Tensor& bias,
                                             const ConvolutionArguments& arguments,
                                             std::array<bool, 3> wanted) {
  const Tensor wide_input = input.to(at::kFloat), wide_weight = weight.to(at::kFloat);
  const Tensor sum = convolve(wide_input, wide_weight, bias.to(at::kFloat), arguments);
  const Tensor result = apply_activation(sum, arguments.activation);
  const Tensor unpooled = pooling_gradient(gradient.to(at::kFloat), result, arguments);
  const Tensor inner = activation_gradient(unpooled, sum, result, arguments.activation);
  const auto [input_gradient, weight_gradient, bias_gradient] = at::convolution_backward_symint(
      inner, wide_input, wide_weight, bias.sym_sizes(), c10::fromIntArrayRefSlow(arguments.stride),
      c10::fromIntArrayRefSlow(arguments.padding), c10::fromIntArrayRefSlow(arguments.dilation),
      false, {0, 0}, arguments.groups, wanted);
  const at::ScalarType dtype = input.scalar_type();
  const auto rounded = [&](const Tensor& wide) { return wide.defined() ? wide.to(dtype) : wide; };
  return {rounded(input_gradient), rounded(weight_gradient), rounded(bias_gradient)};
}

std::vector<Tensor> network_gradients(const Tensor& gradient, const NetworkArguments& arguments,
                                      const std::vector<bool>& wanted) {
  const size_t count = arguments.weights.size();
  const std::vector<Layer> layers = run_layers(arguments);
  std::vector<Tensor> gradients(1 + 2 * count);
  Tensor outer = gradient;
  for (size_t i = count; i-- > 0;) {
    const auto [inner, bias_gradient] = bias_add_activation_gradients(
        outer, layers[i].product, arguments.biases[i], layers[i].activation);
    const auto [input_gradient, weight_gradient] =
        matmul_gradients(inner, layers[i].input, arguments.weights[i],
                         {i > 0 || wanted[0], static_cast<bool>(wanted[1 + i])});
    gradients[1 + i] = weight_gradient;
    gradients[1 + count + i] = bias_gradient;
    outer = input_gradient;
  }
  gradients[0] = outer;
  return gradients;
}

}  // namespace neuron_sim
