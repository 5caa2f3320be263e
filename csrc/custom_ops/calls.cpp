// The custom ops as C++ functions: dispatcher calls.

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>

#include "csrc/neuron_sim.h"

namespace neuron_sim {
namespace {

using at::Tensor;

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using Network = Tensor(const Tensor&, at::TensorList, at::TensorList, std::string_view,
                       std::string_view);

}  // namespace

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  static const auto op = find<Tensor(const Tensor&, const Tensor&, std::string_view, int64_t,
                                     int64_t, int64_t, at::IntArrayRef)>("neuron_sim::vector_add");
  return op.call(a, b, variant, row_chunk, free_dim, num_free_tiles, base_addresses);
}

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  static const auto op =
      find<Tensor(const Tensor&, const Tensor&, std::string_view, bool)>("neuron_sim::matmul");
  return op.call(a, b, variant, transpose_x);
}

Tensor transpose(const Tensor& a, std::string_view engine) {
  static const auto op = find<Tensor(const Tensor&, std::string_view)>("neuron_sim::transpose");
  return op.call(a, engine);
}

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  static const auto op = find<Tensor(const Tensor&, const Tensor&, std::string_view)>(
      "neuron_sim::bias_add_activation");
  return op.call(x, bias, activation);
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      HeightWidth pool_size, HeightWidth stride, HeightWidth padding,
                      std::string_view activation, HeightWidth dilation, int64_t groups,
                      std::optional<HeightWidth> pool_stride) {
  using Convolution =
      Tensor(const Tensor&, const Tensor&, const Tensor&, at::IntArrayRef, at::IntArrayRef,
             at::IntArrayRef, std::string_view, at::IntArrayRef, int64_t, at::OptionalIntArrayRef);
  static const auto op = find<Convolution>("neuron_sim::conv2d_maxpool");
  const auto list = [](const HeightWidth& pair) { return std::array{pair.height, pair.width}; };
  return op.call(input, weight, bias, list(pool_size), list(stride), list(padding), activation,
                 list(dilation), groups, list(pool_stride.value_or(pool_size)));
}

Tensor ffnn_forward(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  static const auto op = find<Network>("neuron_sim::ffnn_forward");
  return op.call(x, weights, biases, hidden_activation, output_activation);
}

Tensor ffnn_predict(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  static const auto op = find<Network>("neuron_sim::ffnn_predict");
  return op.call(x, weights, biases, hidden_activation, output_activation);
}

}  // namespace neuron_sim
