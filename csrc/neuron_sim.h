#pragma once
// All a C++ LibTorch program needs: the device, its streams' clock and the custom ops.
//
//   #include "csrc/neuron_sim.h"
//   neuron_sim::initialize();
//   auto a = torch::ones({1000}, torch::Device("neuron_sim"));
//   auto sum = neuron_sim::vector_add(a, a);
//
// Write the namespace: at::matmul and at::transpose are candidates of an unqualified call.
//
// The ops run on neuron_sim, CPU and meta tensors, are differentiable (once; ffnn_predict is not)
// and are the operators torch.ops.neuron_sim.* of Python and TorchScript. Errors: c10::Error for
// tensors on different devices, c10::TypeError for dtypes, c10::ValueError for shapes and options.
// On CPU tensors oneDNN computes.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "csrc/runtime/export.h"
#include "csrc/runtime/runtime.h"

namespace neuron_sim {

/// a + b, broadcast; equal dtypes: float32, float16, bfloat16, int32, int16, int8 or uint8.
/// `variant` decides the time, not the result: "naive", "tiled" (`row_chunk` partitions per tile),
/// "stream" (`free_dim` elements per partition and tile, 0 chooses), or stream with direct
/// allocation, for operands that are contiguous: "direct" (`num_free_tiles` physical tiles for each
/// of a, b and the sum, whose first bytes per partition are `base_addresses`; empty: one after the
/// other) and "direct_bad" (base addresses one tile apart, so that the tensors overlap and wait for
/// each other).
NEURON_SIM_TORCH_API at::Tensor vector_add(const at::Tensor& a, const at::Tensor& b,
                                           std::string_view variant = "stream",
                                           int64_t row_chunk = 128, int64_t free_dim = 0,
                                           int64_t num_free_tiles = 4,
                                           at::IntArrayRef base_addresses = {});

/// a [M, K] ([K, M] with `transpose_x`) @ b [K, N], both float32, float16 or bfloat16; accumulates
/// in fp32, rounds once. `variant`: "auto", or a kernel of the vendor's tutorial on matrix
/// multiplication: "tiled", "hoist_load", "block_free_dimension" or "fully_optimized".
NEURON_SIM_TORCH_API at::Tensor matmul(const at::Tensor& a, const at::Tensor& b,
                                       std::string_view variant = "auto", bool transpose_x = false);

/// A new contiguous tensor [C, R] of a [R, C], of any dtype of the chip. `engine`: "tensor",
/// "vector", "dma" or "auto"; "tensor" of generation 2 multiplies, so it takes floats only, keeps
/// neither the sign of zero nor, in blocks with NaN or infinity, the other numbers.
NEURON_SIM_TORCH_API at::Tensor transpose(const at::Tensor& a, std::string_view engine = "auto");

/// activation(x + bias) for x [..., F] and bias [F]. `activation`: identity, relu, exp, gelu,
/// sigmoid, tanh, square, sqrt, rsqrt or softmax (over F).
NEURON_SIM_TORCH_API at::Tensor bias_add_activation(const at::Tensor& x, const at::Tensor& bias,
                                                    std::string_view activation);

/// x / sqrt(mean(x^2) + eps) * weight for x [..., F] and weight [F], both float32, float16 or
/// bfloat16; the mean is over F. Computed in fp32, rounded once.
NEURON_SIM_TORCH_API at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight,
                                         double eps = 1e-6);

/// An option by height and width; one number stands for both.
struct HeightWidth {
  int64_t height, width;
  HeightWidth(int64_t both) : height(both), width(both) {}
  HeightWidth(int64_t for_height, int64_t for_width) : height(for_height), width(for_width) {}
  HeightWidth(std::array<int64_t, 2> both) : height(both[0]), width(both[1]) {}
};

/// max_pool2d(activation(conv2d(input, weight, bias, stride, padding, dilation, groups)),
/// pool_size, pool_stride) for input [N, Cin, H, W], weight [Cout, Cin / groups, KH, KW], bias
/// [Cout]. Without `pool_stride` it is pool_size; windows that reach beyond the convolution's
/// output are left out, as in torch.nn.functional.max_pool2d. `activation` as above, without
/// softmax. On the device, groups with few channels share the PE array: a NaN or infinity in the
/// input of one makes NaN of the outputs of those that it shares the array with.
NEURON_SIM_TORCH_API at::Tensor conv2d_maxpool(
    const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
    HeightWidth pool_size, HeightWidth stride = 1, HeightWidth padding = 0,
    std::string_view activation = "identity", HeightWidth dilation = 1, int64_t groups = 1,
    std::optional<HeightWidth> pool_stride = std::nullopt);

/// A feedforward network: x [N, d0], weights [d_i, d_{i+1}], biases [d_{i+1}]; the result is
/// [N, classes].
NEURON_SIM_TORCH_API at::Tensor ffnn_forward(const at::Tensor& x, at::TensorList weights,
                                             at::TensorList biases,
                                             std::string_view hidden_activation = "relu",
                                             std::string_view output_activation = "softmax");

/// int64 [N]: the class of the largest output of ffnn_forward, the lowest of equal ones.
NEURON_SIM_TORCH_API at::Tensor ffnn_predict(const at::Tensor& x, at::TensorList weights,
                                             at::TensorList biases,
                                             std::string_view hidden_activation = "relu",
                                             std::string_view output_activation = "softmax");

}  // namespace neuron_sim
