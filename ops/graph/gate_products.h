#pragma once
// Two products of one input that meet in an expression become one kernel, which keeps the result of
// the first one in SBUF.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Joins a product with the one after it that takes its result as another operand, as gate and up
/// projections of a gated MLP, when both multiply the same left operand and nothing else reads that
/// result (emit_gated_product). Results that fit `room` bytes of each partition, beside the tiles
/// of the second product, stay in SBUF in any case, and so do those of fewer rows than partitions.
void gate_products(Graph& graph, int64_t room);

}  // namespace neuron_sim
