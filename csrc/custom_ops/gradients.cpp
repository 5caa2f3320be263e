#include "csrc/custom_ops/gradients.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <numeric>

#include "csrc/neuron_sim.h"

namespace neuron_sim {
namespace {

using at::Tensor;

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

Tensor broadcast_gradient(const Tensor& gradient, c10::SymIntArrayRef sizes) {
  const int64_t rank = gradient.dim(), missing = rank - static_cast<int64_t>(sizes.size());
  std::vector<int64_t> reduced, kept;
  for (int64_t i = 0; i < rank; ++i) {
    const bool broadcast =
        i < missing || (TORCH_GUARD_OR_FALSE(sizes[static_cast<size_t>(i - missing)].sym_eq(1)) &&
                        !TORCH_GUARD_OR_FALSE(gradient.sym_size(i).sym_eq(1)));
    (broadcast ? reduced : kept).push_back(i);
  }
  if (reduced.empty()) return gradient;
  c10::SymInt features = 1;
  for (const int64_t i : kept) features = features * gradient.sym_size(i);
  std::vector<int64_t> order = reduced;
  order.insert(order.end(), kept.begin(), kept.end());
  Sizes rows;
  for (const int64_t i : reduced) rows.push_back(gradient.sym_size(i));
  rows.push_back(features);
  // The gradient of a bias is the sum over rows; without a function the bias itself is not read.
  const Tensor matrix = gradient.permute(order).reshape_symint(rows);
  const Tensor bias = gradient.new_empty_symint({features});
  return bias_add_activation_gradients(matrix, matrix, bias, "identity").second.view_symint(sizes);
}

std::pair<Tensor, Tensor> matmul_gradients(const Tensor& gradient, const Tensor& a, const Tensor& b,
                                           std::pair<bool, bool> wanted) {
  return {wanted.first ? neuron_sim::matmul(gradient, b.t()) : Tensor(),
          wanted.second ? neuron_sim::matmul(a.t(), gradient) : Tensor()};
}

std::pair<Tensor, Tensor> bias_add_activation_gradients(const Tensor& gradient, const Tensor& x,
                                                        const Tensor& bias,
                                                        std::string_view activation) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("neuron_sim::bias_add_activation_backward", "")
                             .typed<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                               const Tensor&, std::string_view)>();
  const auto [x_gradient, bias_gradient] = op.call(gradient, x, bias, activation);
  return {x_gradient, bias_gradient};
}

std::string_view activation_argument(Activation function) {
  return function == Activation::kIdentity ? "identity" : name(function);
}

std::vector<Tensor> conv2d_maxpool_gradients(const Tensor& gradient, const Tensor& input,
                                             const Tensor& weight, const Tensor& bias,
                                             const Conv2dMaxpoolOptions& options,
                                             std::array<bool, 3> wanted) {
  using Backward = std::tuple<Tensor, Tensor, Tensor>(
      const Tensor&, const Tensor&, const Tensor&, const Tensor&, at::IntArrayRef, at::IntArrayRef,
      at::IntArrayRef, std::string_view, at::IntArrayRef, int64_t, at::OptionalIntArrayRef,
      std::array<bool, 3>);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("neuron_sim::conv2d_maxpool_backward", "")
                             .typed<Backward>();
  const auto [input_gradient, weight_gradient, bias_gradient] =
      op.call(gradient, input, weight, bias, options.pool_kernel, options.stride, options.padding,
              activation_argument(options.activation), options.dilation, options.groups,
              options.pool_stride, wanted);
  return {input_gradient, weight_gradient, bias_gradient};
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
