// The custom ops on the device: each builds or finds its compiled kernel and launches it.

#include <torch/library.h>

#include "csrc/custom_ops/result_sizes.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/errors.h"
#include "device/numerics/activation_functions.h"
#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/ffnn/ffnn.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/transpose.h"
#include "ops/movement/vector_add.h"
#include "ops/rows/bias_add_activation.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// `tensor` with strides of 0 where it is broadcast.
Tensor broadcast(const Tensor& tensor, const Sizes& sizes) {
  const c10::SymIntArrayRef wanted(sizes);
  return tensor.sym_sizes() == wanted ? tensor : tensor.expand_symint(wanted);
}

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  const VectorAddOptions options =
      vector_add_options({variant, row_chunk, free_dim, num_free_tiles, base_addresses});
  const Sizes sizes = vector_add_sizes(a, b);
  return translate_errors([&] {
    KernelCall call("vector_add", a.device());
    call.operand(broadcast(a, sizes)).operand(broadcast(b, sizes));
    call.option(static_cast<int64_t>(options.variant)).option(row_chunk).option(free_dim);
    call.option(num_free_tiles).option(static_cast<int64_t>(base_addresses.size()));
    for (const int64_t address : base_addresses) call.option(address);
    return call.run(sizes, a.scalar_type(), [&] {
      return build_vector_add(call.architecture(), call.spec(0), call.spec(1), options);
    });
  });
}

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  const MatmulOptions options = matmul_options(variant, transpose_x);
  const Sizes sizes = matmul_sizes(a, b, transpose_x);
  return translate_errors([&] {
    KernelCall call("matmul", a.device());
    call.operand(a).operand(b);
    call.option(static_cast<int64_t>(options.variant)).option(static_cast<int64_t>(transpose_x));
    return call.run(sizes, a.scalar_type(), [&] {
      return build_matmul(call.architecture(), call.spec(0), call.spec(1), options);
    });
  });
}

Tensor transpose(const Tensor& a, std::string_view engine) {
  const TransposeEngine chosen = transpose_engine(engine);
  const Sizes sizes = transpose_sizes(a);
  return translate_errors([&] {
    KernelCall call("transpose", a.device());
    call.operand(a).option(static_cast<int64_t>(chosen));
    return call.run(sizes, a.scalar_type(),
                    [&] { return build_transpose(call.architecture(), call.spec(0), chosen); });
  });
}

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  const Sizes sizes = bias_add_activation_sizes(x, bias, activation);
  return translate_errors([&] {
    KernelCall call("bias_add_activation", x.device());
    call.operand(x).operand(bias).option(activation);
    return call.run(sizes, x.scalar_type(), [&] {
      return build_bias_add_activation(call.architecture(), call.spec(0), call.spec(1),
                                       std::string(activation));
    });
  });
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
                      std::string_view activation, at::IntArrayRef dilation, int64_t groups,
                      at::OptionalIntArrayRef pool_stride) {
  const ConvolutionArguments arguments{
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation};
  const Sizes sizes = conv2d_maxpool_sizes(input, weight, bias, arguments);
  return translate_errors([&] {
    const auto pair = [](at::IntArrayRef values) { return std::array{values[0], values[1]}; };
    const Conv2dMaxpoolOptions options{.pool_kernel = pair(arguments.pool_kernel),
                                       .pool_stride = pair(arguments.pool_stride),
                                       .stride = pair(stride),
                                       .padding = pair(padding),
                                       .dilation = pair(dilation),
                                       .groups = groups,
                                       .activation = *parse_activation(activation)};
    KernelCall call("conv2d_maxpool", input.device());
    call.operand(input).operand(weight).operand(bias);
    for (const auto& values : {options.pool_kernel, options.pool_stride, options.stride,
                               options.padding, options.dilation}) {
      call.option(values[0]).option(values[1]);
    }
    call.option(groups).option(static_cast<int64_t>(options.activation));
    return call.run(sizes, input.scalar_type(), [&] {
      return build_conv2d_maxpool(call.architecture(), call.spec(0), call.spec(1), call.spec(2),
                                  options);
    });
  });
}

/// `build`: build_ffnn_forward or build_ffnn_predict.
template <typename BuildNetwork>
Tensor run_network(const char* op, const NetworkArguments& arguments, c10::SymIntArrayRef sizes,
                   at::ScalarType dtype, BuildNetwork build) {
  return translate_errors([&] {
    const size_t layers = arguments.weights.size();
    KernelCall call(op, arguments.x.device());
    call.option(static_cast<int64_t>(layers)).operand(arguments.x);
    for (const Tensor& weight : arguments.weights) call.operand(weight);
    for (const Tensor& bias : arguments.biases) call.operand(bias);
    call.option(arguments.hidden_activation).option(arguments.output_activation);
    return call.run(sizes, dtype, [&] {
      FfnnOptions options;
      options.hidden_activation = arguments.hidden_activation;
      options.output_activation = arguments.output_activation;
      return build(call.architecture(),
                   FfnnSpecs{call.spec(0), call.specs(1, layers), call.specs(1 + layers, layers)},
                   options);
    });
  });
}

Tensor ffnn_forward(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  const Sizes sizes = network_sizes("ffnn_forward", arguments);
  return run_network("ffnn_forward", arguments, sizes, x.scalar_type(), build_ffnn_forward);
}

Tensor ffnn_predict(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  const Sizes sizes = network_sizes("ffnn_predict", arguments);
  // The chip has no 64-bit integers; torch's indices are int64.
  return run_network("ffnn_predict", arguments, c10::SymIntArrayRef(sizes).slice(0, 1), at::kInt,
                     build_ffnn_predict)
      .to(at::kLong);
}

}  // namespace

TORCH_LIBRARY_IMPL(neuron_sim, PrivateUse1, m) {
  m.impl("vector_add", vector_add);
  m.impl("matmul", matmul);
  m.impl("transpose", transpose);
  m.impl("bias_add_activation", bias_add_activation);
  m.impl("conv2d_maxpool", conv2d_maxpool);
  m.impl("ffnn_forward", ffnn_forward);
  m.impl("ffnn_predict", ffnn_predict);
}

}  // namespace neuron_sim
