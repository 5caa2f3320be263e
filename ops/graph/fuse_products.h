#pragma once
// Joins pointwise kernels of a graph with the matrix products whose results they read.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Steps and operands of the expression that a product applies to its sums, at most: its tiles
/// stand beside the operands of the product in SBUF.
inline constexpr size_t kMaximumProductSteps = 24;
inline constexpr size_t kMaximumProductOperands = 3;

/// Joins pointwise kernels with products: a product applies a pointwise
/// kernel of floating-point values that goes over all elements of its result while these leave
/// PSUM, when nothing else reads that result, and their order and the room in SBUF allow it. Sums
/// stay in fp32 in between.
void fuse_products(Graph& graph);

}  // namespace neuron_sim
