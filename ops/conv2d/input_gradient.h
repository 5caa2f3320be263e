#pragma once
// The gradient of a convolution for its input (a transposed convolution), without zero insertion.
//
// Algorithm. With stride s the inputs of one axis fall into s phases: input r + s * q takes only
// the taps k with k * dilation = r + padding (modulo s), and from output q + e, with a constant e
// for each of them. So each pair of phases is a small dense convolution of the gradient: a shifted
// window of an image tile with output channels on partitions is the moving operand, the slice
// [output channels, input channels] of the weights, as laid out in memory, the stationary one; the
// taps of a phase accumulate in a PSUM bank. Scalar rounds the bank into every s-th pixel of a
// staging tile, which is stored as whole rows.
//
// Tile plan: the weights of up to 128 input channels stay in SBUF; bands of rows of the gradient
// with their halo stream through a ring; groups of few channels share the array, with zero weights
// between them.
//
// Roofline: KH * KW * ceil(Cout / 128) * ceil(Cin / 128) columns of the PE array per pixel of the
// convolution's output, whatever the stride: no product with an inserted zero.

#include <optional>

#include "ops/contract/kernel_definition.h"
#include "ops/conv2d/geometry.h"

namespace neuron_sim {

/// gradient [N, Cout, OH, OW] of the convolution's output, weight [Cout, Cin / groups, KH, KW], any
/// strides; `input` gives the shape [N, Cin, H, W] of the result, which is dense. Accumulates in
/// fp32, rounds once. As in the forward op, a NaN or infinity in the gradient also makes NaN of the
/// groups that share the array with its own, at the same places. Arguments of the program:
/// gradient, weight, grad_input. An empty result has no program. KernelError as conv2d_sizes, and
/// for sizes whose smallest tiles exceed SBUF.
extern const KernelDefinition<Conv2dGeometry> kConv2dInputGradient;

/// Emits kConv2dInputGradient among other kernels of a program, for operands gradient and weight,
/// into a result of any strides; as a transposed convolution it adds the third operand, a bias
/// [Cin], if there is one, before it rounds. No tensor is empty.
void emit_conv2d_input_gradient(Builder& builder, HbmTensors operands, HbmTensors results,
                                const Conv2dGeometry& geometry);
inline constexpr KernelDefinition<Conv2dGeometry> kConvolutionInputGradient{
    .name = "convolution_input_gradient", .emit = emit_conv2d_input_gradient};

}  // namespace neuron_sim
