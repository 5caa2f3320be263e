#pragma once
// Convolution, bias, activation and max pooling in one kernel, without im2col.
//
// Algorithm: an image tile holds channels on partitions and rows of pixels, with its zero border,
// in the free dimensions. For a filter tap (kernel row, kernel column) the moving operand is a
// shifted, strided window of that tile, the stationary operand the [channels, filters] slice of the
// weights, and all taps of all channel blocks accumulate in one PSUM bank (512 outputs). With few
// channels several kernel rows share the partitions, to fill the array. Scalar adds the
// bias, applies the activation and rounds while a bank leaves PSUM; Vector takes the maxima.
//
// Groups of few channels share the array too: up to 128 channels and 128 filters of neighbouring
// groups make one convolution whose weights are zero between groups. A depthwise convolution of
// 128 channels thus costs as much as a dense one, not 128 passes at 1 / 128 of the array.
//
// Tile plan (plan.h): weights stay in SBUF, transposed on chip; bands of output rows with
// their halo rows stream through a ring of image tiles; banks rotate through all of PSUM. Where
// pooling windows overlap, neighbouring bands compute the outputs they share twice.
//
// Roofline: KH * KW * ceil(C / 128) * ceil(F / 128) columns of the PE array per output pixel and
// set of groups, of C channels and F filters together.
// 256 -> 256 channels, 3 x 3, 224 x 224: 36 * 222 * 222 columns, 739 us at 2.4 GHz (bf16, trn2).

#include <array>
#include <cstdint>
#include <optional>

#include "device/numerics/activation_functions.h"
#include "ops/blocks/axis_windows.h"
#include "ops/contract/kernel_definition.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Pairs are height, width.
struct Conv2dMaxpoolOptions {
  std::array<int64_t, 2> pool_kernel{1, 1}, pool_stride{1, 1};  ///< max pooling; 1: no pooling
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};   ///< zeros on both sides of the input
  std::array<int64_t, 2> dilation{1, 1};  ///< steps between the taps of the kernel
  int64_t groups = 1;                     ///< groups of channels, each with its own filters
  Activation activation = Activation::kIdentity;
  /// The dtype of the output: the operands' (the default), or float32, which rounds nothing.
  std::optional<Dtype> output_dtype{};
  static constexpr std::array kFields{
      "pool_size", "pool_stride|pool_size", "stride", "padding", "dilation", "groups", "activation",
      ""};
};

/// max_pool2d(activation(conv2d(input, weight, bias, stride, padding, dilation, groups)),
/// pool_kernel, pool_stride).
///
/// input [N, Cin, H, W], weight [Cout, Cin / groups, KH, KW], bias [Cout], all float32, float16 or
/// bfloat16 alike (the bias may be float32 all the same), with any strides; output [N, Cout, PH,
/// PW], of that dtype or float32, dense, with OH = floor((H + 2 * padding - dilation * (KH - 1) -
/// 1) / stride) + 1 and PH = floor((OH - pool_kernel) / pool_stride) + 1, PW likewise. Products
/// accumulate in fp32; bias and activation are computed in fp32 and rounded once; a window with a
/// NaN gives NaN. Where groups share the array, a NaN or infinity in the input makes NaN of the
/// outputs of the groups that share it, at the same places (it meets their zero weights); weights
/// do not spread like that. Arguments of the program: input, weight, bias, output. N = 0 gives no
/// program. KernelError for shapes that do not fit together, groups that do not divide the
/// channels, a kernel or a window larger than the extent it slides over, other dtypes, and sizes
/// whose smallest tiles exceed SBUF.
extern const KernelDefinition<Conv2dMaxpoolOptions> kConv2dMaxpool;

/// Emits kConv2dMaxpool among other kernels of a program, for operands input, weight and, if there
/// is one, bias, into an output of any strides. No tensor is empty.
void emit_conv2d_maxpool(Builder& builder, HbmTensors operands, HbmTensors results,
                         const Conv2dMaxpoolOptions& options);

/// results[i] = result i of `expression` for the convolution (input 0) and `others` (inputs 1,
/// ...), which have the sizes of the convolution and any strides, applied as the sums leave PSUM.
/// With `pooling` the one result is that of max pooling over it, rounded before it is pooled.
/// `options` have neither pooling nor an activation; expressions as ops/graph/follow_products.h
/// makes them.
void emit_followed_conv2d(Builder& builder, HbmTensors operands, HbmTensors others,
                          HbmTensors results, const Expression& expression,
                          const InnerWindows& pooling, const Conv2dMaxpoolOptions& options);

/// emit_conv2d_maxpool as a kernel of operators, which graphs may have followed and pooled.
extern const KernelDefinition<Conv2dMaxpoolOptions> kConvolution;

}  // namespace neuron_sim
