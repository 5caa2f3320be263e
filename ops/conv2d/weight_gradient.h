#pragma once
// The gradient of a convolution for its weight and bias.
//
// Algorithm. The contraction runs over images and pixels, so those go to partitions: 128 rows of
// pixels (of several images, or of a part of one) at a time. For every column of the output, the
// gradient of those rows is transposed on chip to [rows, output channels], the stationary operand;
// for every kernel row, the rows of the input that it reads are transposed to [rows, columns, input
// channels], where the taps of a kernel row are windows that start a column later. One product
// takes the taps of whole kernel rows, up to 512 columns of (kernel row, kernel column, input
// channel), and PSUM accumulates over all columns, rows and images. A column of ones as moving
// operand gives the gradient of the bias. Height and width are swapped where that fills the
// partitions better.
//
// Tile plan (weight_gradient_plan.h): up to four banks of taps at a time, blocks of 128
// input and output channels; groups that share a block are multiplied together and the blocks on
// the diagonal kept, because the array would be idle otherwise.
//
// Roofline: KH * KW * Cin columns of the PE array per 128 pixels and 128 output channels, and
// KH * Cin + Cout columns of transposes, whose copies out of PSUM Vector and Scalar share.

#include <optional>

#include "ops/contract/kernel_definition.h"
#include "ops/conv2d/geometry.h"

namespace neuron_sim {

/// gradient [N, Cout, OH, OW] of the convolution's output, input [N, Cin, H, W], any strides;
/// `weight` gives the shape [Cout, Cin / groups, KH, KW] of the first output, the second one is the
/// gradient of the bias [Cout]; both dense. Accumulates in fp32, rounds once. Arguments of the
/// program: gradient, input, grad_weight, grad_bias. For N = 0 they are zeros. KernelError as
/// conv2d_sizes, and for sizes whose smallest tiles exceed SBUF.
extern const KernelDefinition<Conv2dGeometry> kConv2dWeightGradient;

/// Emits kConv2dWeightGradient among other kernels of a program, for operands gradient and input,
/// into one or two results of any strides: one without a bias. Only operands may be empty.
void emit_conv2d_weight_gradient(Builder& builder, HbmTensors operands, HbmTensors results,
                                 const Conv2dGeometry& geometry);
inline constexpr KernelDefinition<Conv2dGeometry> kConvolutionWeightGradient{
    .name = "convolution_weight_gradient", .emit = emit_conv2d_weight_gradient};

}  // namespace neuron_sim
