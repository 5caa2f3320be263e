// The custom ops on the device: each builds or finds its compiled kernel and launches it.

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "csrc/custom_ops/result_sizes.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/runtime/errors.h"
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

/// The result, of these sizes, of a kernel for the operands.
template <typename Options>
Tensor run(const KernelDefinition<Options>& kernel, at::TensorList operands, const Options& options,
           c10::SymIntArrayRef sizes, at::ScalarType dtype) {
  return translate_errors([&] {
    const at::Device device = operands.front().device();
    const Tensor result =
        at::empty(C10_AS_INTARRAYREF_SLOW(sizes), at::TensorOptions().dtype(dtype).device(device));
    KernelCall call(kernel.name, device);
    for (const Tensor& operand : operands) call.operand(operand);
    call.result(result).launch(kernel, options);
    return result;
  });
}

Tensor vector_add(const Tensor& a, const Tensor& b, std::string_view variant, int64_t row_chunk,
                  int64_t free_dim, int64_t num_free_tiles, at::IntArrayRef base_addresses) {
  const VectorAddOptions options =
      vector_add_options({variant, row_chunk, free_dim, num_free_tiles, base_addresses});
  const Sizes sizes = vector_add_sizes(a, b);
  return run(kVectorAdd, {broadcast(a, sizes), broadcast(b, sizes)}, options, sizes,
             a.scalar_type());
}

Tensor matmul(const Tensor& a, const Tensor& b, std::string_view variant, bool transpose_x) {
  const MatmulOptions options = matmul_options(variant, transpose_x);
  return run(kMatmul, {a, b}, options, matmul_sizes(a, b, transpose_x), a.scalar_type());
}

Tensor transpose(const Tensor& a, std::string_view engine) {
  const TransposeOptions options{transpose_engine(engine)};
  return run(kTranspose, {a}, options, transpose_sizes(a), a.scalar_type());
}

Tensor bias_add_activation(const Tensor& x, const Tensor& bias, std::string_view activation) {
  const Sizes sizes = bias_add_activation_sizes(x, bias, activation);
  return run(kBiasAddActivation, {x, bias}, {std::string(activation)}, sizes, x.scalar_type());
}

Tensor conv2d_maxpool(const Tensor& input, const Tensor& weight, const Tensor& bias,
                      at::IntArrayRef pool_size, at::IntArrayRef stride, at::IntArrayRef padding,
                      std::string_view activation, at::IntArrayRef dilation, int64_t groups,
                      at::OptionalIntArrayRef pool_stride) {
  const Conv2dMaxpoolOptions options = conv2d_maxpool_options(
      pool_size, pool_stride.value_or(pool_size), stride, padding, dilation, groups, activation);
  const Sizes sizes = conv2d_maxpool_sizes(input, weight, bias, options);
  return run(kConv2dMaxpool, {input, weight, bias}, options, sizes, input.scalar_type());
}

Tensor run_network(const KernelDefinition<FfnnOptions>& kernel, const NetworkArguments& arguments,
                   c10::SymIntArrayRef sizes, at::ScalarType dtype) {
  c10::SmallVector<Tensor, 8> operands{arguments.x};
  operands.append(arguments.weights.begin(), arguments.weights.end());
  operands.append(arguments.biases.begin(), arguments.biases.end());
  const FfnnOptions options{.hidden_activation = std::string(arguments.hidden_activation),
                            .output_activation = std::string(arguments.output_activation)};
  return run(kernel, operands, options, sizes, dtype);
}

Tensor ffnn_forward(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  return run_network(kFfnnForward, arguments, network_sizes("ffnn_forward", arguments),
                     x.scalar_type());
}

Tensor ffnn_predict(const Tensor& x, at::TensorList weights, at::TensorList biases,
                    std::string_view hidden_activation, std::string_view output_activation) {
  const NetworkArguments arguments{x, weights, biases, hidden_activation, output_activation};
  const Sizes sizes = network_sizes("ffnn_predict", arguments);
  // The chip has no 64-bit integers; torch's indices are int64.
  return run_network(kFfnnPredict, arguments, c10::SymIntArrayRef(sizes).slice(0, 1), at::kInt)
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
