#pragma once
// attention of a few rows per key head: a decode step over caches of keys and values.
//
// Algorithm. Keys lie on partitions, so that all of them work: TensorE multiplies tiles of 128
// keys (transposed on chip) with the rows of q, the scores of several heads stand side by side as
// [128, heads, tiles, rows], and the row operations of all of them are a few instructions. The
// exponentials multiply the values as they are, without a transpose; the results are transposed at
// the end. Key number p * tiles + t lies on partition p: its rows and those of the values are
// contiguous per partition. Keys and values that do not fit SBUF come in pieces of their tiles.
//
// Roofline: DMA, k and v once.

#include "ops/attention/attention.h"

namespace neuron_sim {

/// Whether emit_attention_of_few_rows takes these operands (those of emit_attention).
bool has_few_rows(const Limits& limits, HbmTensors operands, const AttentionOptions& options);

/// As emit_attention.
void emit_attention_of_few_rows(Builder& builder, HbmTensors operands, HbmTensors results,
                                const AttentionOptions& options);

}  // namespace neuron_sim
