#pragma once
// Pointwise kernel: results = expression(operands), element by element.
//
// Algorithm: dimensions are merged as far as the strides of all tensors allow; then one dimension
// lies on partitions, a suffix of dimensions is free, the others are loops. Tiles of up to 4 KiB
// per partition stream through rings: loads on the queue of Sync, steps on Vector, Scalar and
// GpSimd, stores on the queue of GpSimd. A dimension of stride 0 is loaded once and repeated by
// the access pattern of the instruction; an operand that is the same for all rows of a run of
// tiles is loaded once for all of them.
//
// Roofline: DMA, the bytes of operands and results; an engine takes about a cycle per element and
// partition for each instruction (docs/instructions.md).

#include "ops/contract/hbm_tensor.h"
#include "ops/pointwise/expression.h"

namespace neuron_sim {

/// Operands and results have the same shape (broadcast operands by strides of 0); results may
/// overlap only operands of the very same elements. Any dtypes of the chip; operands of an
/// expression of Domain::kInteger are integers of at most 32 bits or bool. KernelError when the
/// values of the expression do not fit SBUF.
void emit_pointwise(Builder& builder, HbmTensors operands, HbmTensors results,
                    const Expression& expression);

/// Emits a pointwise kernel with random numbers: the last input of the expression is, for every
/// element, a new integer of 24 random bits (as fp32, 0 to 2^24 - 1) of the Vector engine's
/// generators. The last operand is the seed: one int32 that sets their state first, so that equal
/// seeds, shapes and architectures give equal numbers.
void emit_random_pointwise(Builder& builder, HbmTensors operands, HbmTensors results,
                           const Expression& expression);

}  // namespace neuron_sim
