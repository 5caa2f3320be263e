#pragma once
// softmax(x + bias) over rows of any length, for rows that SBUF cannot hold.
//
// Algorithm. Two passes over each tile of 128 rows, in chunks of columns. The first keeps a running
// maximum m and a running sum s of exp(x + bias - m): a chunk with a larger maximum first scales s
// by exp(m before - m after). The second computes exp(x + bias - m) / s and stores it. The maximum
// is kept negated, as the bias operand of the Scalar engine requires, and starts at the lowest
// finite number instead of minus infinity, so that a chunk of minus infinities adds zeros; a whole
// row of them is NaN, as in torch.
//
// Tile plan: chunks of [128, 2048] elements in rings of three; the whole bias stays in SBUF if it
// takes at most half of it, else its chunks stream by with those of x.
//
// Roofline: DMA, 3 * elements * itemsize bytes; Scalar takes 1 cycle per element and partition in
// the first pass and 2 in the second.

#include "device/builder/builder.h"

namespace neuron_sim {

/// Elements per partition of a chunk of a streamed row.
inline constexpr int64_t kChunkColumns = 2048;

/// out = softmax(x + bias) over the last dimension, for HBM views x and out [leading..., rows,
/// features] and bias [features] of one dtype (fp32, fp16, bf16), none empty. Computed in fp32,
/// rounded once.
void emit_streaming_softmax(Builder& builder, const View& x, const View& bias, const View& out);

}  // namespace neuron_sim
