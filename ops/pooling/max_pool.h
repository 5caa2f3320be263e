#pragma once
// max_pool: maxima of windows of planes and their indices, and the backward pass.
//
// Algorithm. Planes lie on partitions; outputs whose windows are cut alike by the border form
// rectangles, and for each element of their windows a strided view of the input is compared with
// the maxima so far. Where windows overlap enough, the columns of the windows come first, for every
// row of the input, and then the rows, whose maxima many windows share. Vector keeps the maximum
// and the offset of the last element that beat all earlier ones or is NaN, in fp32, to which the
// index of the window's first element is added at the end. An int64 index is two words, of which
// only the low one is ever nonzero. Backward, the offsets are compared with those of every element
// of the windows; gradients are taken bit by bit where they agree, and added up in fp32.
//
// Roofline: Vector, some four cycles per element of a window (in two passes: of its rows and of its
// columns), output and partition.

#include "ops/blocks/axis_windows.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

struct PoolingWindows {
  AxisWindows rows, columns;
  static constexpr std::array kFields{"rows", "columns"};
};

/// Operand: input [N, C, H, W]; results: output [N, C, OH, OW] of the same float dtype, indices
/// int32 [N, C, OH, OW, 2]: the words of the int64 index row * W + column. H * W up to 2^24.
/// Without the second result nothing but the maxima is computed, in a quarter of the instructions.
/// Any strides, none empty. Ties go to the first element, and so does a window of -inf; NaN to the
/// last one.
void emit_max_pool(Builder& builder, HbmTensors operands, HbmTensors results,
                   const PoolingWindows& windows);
extern const KernelDefinition<PoolingWindows> kMaxPool;
/// Operands: gradients [N, C, OH, OW] and indices; result: grad_input [N, C, H, W], the sum of the
/// gradients whose index is that element.
void emit_max_pool_backward(Builder& builder, HbmTensors operands, HbmTensors results,
                            const PoolingWindows& windows);
inline constexpr KernelDefinition<PoolingWindows> kMaxPoolBackward{.name = "max_pool_backward",
                                                                   .emit = emit_max_pool_backward};

}  // namespace neuron_sim
