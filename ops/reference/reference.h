#pragma once
// CPU references of all ops, computed by oneDNN (on arm64 by plain loops): run by the CPU dispatch
// key of each op, and the oracle of the tests. They share no code with the kernels.
//
// All arrays are contiguous and row-major. fp16 and bf16 operands are widened to fp32, everything
// is computed in fp32, and results are rounded once, to nearest even, at the end.

#include <cstdint>
#include <string>
#include <vector>

#include "device/numerics/dtype.h"

namespace neuron_sim::reference {

/// out = a + b. Floats as above; int32, int16, int8 and uint8 modulo 2^bits.
void vector_add(const void* a, const void* b, void* out, int64_t elements, Dtype dtype);

/// out[rows, columns] = a[rows, depth] @ b[depth, columns]. depth 0 gives zeros.
struct MatmulSize {
  int64_t rows = 0, depth = 0, columns = 0;
};
void matmul(const void* a, const void* b, void* out, const MatmulSize& size, Dtype dtype);

/// out[columns, rows] = x[rows, columns] transposed, bit by bit, any dtype.
void transpose(const void* x, void* out, int64_t rows, int64_t columns, Dtype dtype);

/// out = activation(x[rows, features] + bias[features]); activations as parse_output_function names
/// them (identity, relu, exp, gelu, sigmoid, tanh, square, sqrt, rsqrt, softmax).
void bias_add_activation(const void* x, const void* bias, void* out, int64_t rows, int64_t features,
                         const std::string& activation, Dtype dtype);

/// Rows or columns of a convolution with max pooling; the kernel and the window fit (SimulatorBug
/// of oneDNN otherwise).
struct ConvolutionAxis {
  int64_t extent = 0, kernel = 1;  ///< of the input and of the weight
  int64_t stride = 1, padding = 0, dilation = 1;
  int64_t pool_kernel = 1, pool_stride = 1;
  /// Outputs of the convolution.
  int64_t convolved() const {
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  /// Outputs of the pooling.
  int64_t outputs() const { return (convolved() - pool_kernel) / pool_stride + 1; }
};
/// Sizes of conv2d_maxpool: input [N, Cin, H, W], weight [Cout, Cin / groups, KH, KW].
struct ConvolutionSize {
  int64_t images = 0, channels = 0, filters = 0, groups = 1;
  ConvolutionAxis rows, columns;
};
/// out [N, Cout, rows.outputs(), columns.outputs()] =
/// max_pool(activation(convolution(input, weight) + bias)); activation as above, except softmax.
void conv2d_maxpool(const void* input, const void* weight, const void* bias, void* out,
                    const ConvolutionSize& size, const std::string& activation, Dtype dtype);

/// A network as kFfnnForward takes it: widths[0] features in, widths[i + 1] out of layer i.
struct Network {
  int64_t batch = 0;
  std::vector<int64_t> widths;
  std::vector<const void*> weights, biases;
  std::string hidden_activation = "relu", output_activation = "softmax";
};
/// out [batch, widths.back()]; hidden activations are rounded to the dtype, as on the device.
void ffnn_forward(const void* x, void* out, const Network& network, Dtype dtype);
/// Index of the largest output of each row, the lowest of equals; the first NaN if any.
void ffnn_predict(const void* x, int32_t* out, const Network& network, Dtype dtype);

}  // namespace neuron_sim::reference
