#pragma once
// Joins pointwise kernels of a graph with the row programs that read their results or whose results
// they read: a residual is added and a normalised row is rounded while the row is in SBUF.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Joins pointwise kernels with row programs. A row program takes in a
/// pointwise kernel of floating-point values that goes over the same elements in the same order,
/// when their order allows it and SBUF holds the rows of all tensors of both. Values stay in fp32
/// in between, as in fuse_pointwise.h.
void fuse_rows(Graph& graph);

}  // namespace neuron_sim
