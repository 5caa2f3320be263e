#pragma once
// Checks all arguments of a custom op and computes the sizes of its result. The device, CPU and
// meta kernels of an op all start with it, so that they accept and reject the same calls.
//
// Errors: RuntimeError for tensors on different devices, TypeError for dtypes, else ValueError.

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

#include <string_view>

#include "ops/conv2d/conv2d_maxpool.h"
#include "ops/matmul/matmul.h"
#include "ops/movement/transpose.h"
#include "ops/movement/vector_add.h"

namespace neuron_sim {

using Sizes = c10::SymDimVector;

/// Arguments of vector_add that are not tensors.
struct VectorAddArguments {
  std::string_view variant;
  int64_t row_chunk = 128, free_dim = 0, num_free_tiles = 4;
  at::IntArrayRef base_addresses;
};

/// Arguments of ffnn_forward and ffnn_predict.
struct NetworkArguments {
  const at::Tensor& x;
  at::TensorList weights, biases;
  std::string_view hidden_activation, output_activation;
};

/// Options of the kernels; c10::ValueError for unknown variants and engines and for numbers that no
/// operand could have.
VectorAddOptions vector_add_options(const VectorAddArguments& arguments);
MatmulOptions matmul_options(std::string_view variant, bool transpose_x);
TransposeEngine transpose_engine(std::string_view engine);
/// Lists are height, width.
Conv2dMaxpoolOptions conv2d_maxpool_options(at::IntArrayRef pool_kernel,
                                            at::IntArrayRef pool_stride, at::IntArrayRef stride,
                                            at::IntArrayRef padding, at::IntArrayRef dilation,
                                            int64_t groups, std::string_view activation);

/// Sizes of a and b broadcast as torch.add does.
Sizes vector_add_sizes(const at::Tensor& a, const at::Tensor& b);
/// [M, N]; a is [K, M] with `transpose_x`.
Sizes matmul_sizes(const at::Tensor& a, const at::Tensor& b, bool transpose_x);
Sizes transpose_sizes(const at::Tensor& a);
Sizes bias_add_activation_sizes(const at::Tensor& x, const at::Tensor& bias,
                                std::string_view activation);
Sizes conv2d_maxpool_sizes(const at::Tensor& input, const at::Tensor& weight,
                           const at::Tensor& bias, const Conv2dMaxpoolOptions& options);
/// Checks the arguments of the backward ops: the forward op's checks, and that `gradient` matches
/// its result.
void check_bias_add_activation_backward(const at::Tensor& gradient, const at::Tensor& x,
                                        const at::Tensor& bias, std::string_view activation);
void check_conv2d_maxpool_backward(const at::Tensor& gradient, const at::Tensor& input,
                                   const at::Tensor& weight, const at::Tensor& bias,
                                   const Conv2dMaxpoolOptions& options);
/// [N, classes]. `op` is "ffnn_forward" or "ffnn_predict", whose result is [N].
Sizes network_sizes(const char* op, const NetworkArguments& arguments);

}  // namespace neuron_sim
