#pragma once
// The gradient of softmax(x + bias) over rows of any length, for rows that SBUF cannot hold.
//
// Algorithm. Two passes over each tile of 128 rows, in chunks of columns, as streaming_softmax.h.
// The first keeps a running maximum m, a running sum s of e = exp(x + bias - m) and one of gradient
// * e; a chunk with a larger maximum first scales both. The second computes e again and stores
// (gradient / s - sum(gradient * e) / s^2) * e. A third pass reads the result back and adds up its
// rows, panel of columns by panel of columns, on the Tensor engine.
//
// Tile plan: chunks of [128, 2048] elements in rings of two.
//
// Roofline: DMA, 6 * elements * itemsize bytes.

#include "device/builder/builder.h"

namespace neuron_sim {

/// HBM views [leading..., rows, features] and bias vectors [features] of one dtype (fp32, fp16,
/// bf16), none empty.
struct SoftmaxBackwardTensors {
  View gradient, x, bias, x_gradient, bias_gradient;
};

/// x_gradient and bias_gradient; computed in fp32, rounded once.
void emit_streaming_softmax_backward(Builder& builder, const SoftmaxBackwardTensors& tensors);

}  // namespace neuron_sim
