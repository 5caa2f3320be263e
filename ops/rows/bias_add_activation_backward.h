#pragma once
// bias_add_activation backward: grad_x = gradient * activation'(x + bias), and grad_bias, its sum
// over rows.
//
// Algorithm. As the forward op: rows lie on partitions, short rows side by side. x and the gradient
// are loaded, the bias added again on GpSimd, the derivative computed on Scalar and Vector in fp32,
// the product rounded once and stored. The same tile, as stored, is multiplied with a column of
// ones on the Tensor engine, which adds up its rows; PSUM accumulates over tiles in fp32. Softmax:
// y * (g - sum(g * y)), over whole rows while they fit SBUF (else streaming_softmax_backward.h).
//
// Tile plan: [128, 2048] elements in rings of two or three.
//
// Roofline: DMA, 3 * elements * itemsize bytes; Vector takes some 2 cycles per element for each of
// its two to five instructions.

#include "ops/rows/bias_add_activation.h"

namespace neuron_sim {

/// gradient and x [..., F] of any strides, bias [F], all of one dtype (fp32, fp16, bf16); outputs:
/// the gradients of x, dense, and of bias (the sum of the rounded gradient of x in fp32,
/// rounded once). Arguments of the program: gradient, x, bias, grad_x, grad_bias. Without rows
/// grad_bias is zeros; without features there is no program. `activation` as in
/// kBiasAddActivation. KernelError for other ranks, sizes, dtypes and names.
extern const KernelDefinition<BiasAddActivationOptions> kBiasAddActivationBackward;

}  // namespace neuron_sim
