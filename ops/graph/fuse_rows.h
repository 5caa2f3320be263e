#pragma once
// Joins pointwise kernels of a graph with the row programs that read their results or whose results
// they read: a residual is added and a normalised row is rounded while the row is in SBUF.

#include <functional>
#include <vector>

#include "ops/graph/graph_kernel.h"

namespace neuron_sim {

/// Joins pointwise kernels with row programs. A row program takes in a
/// pointwise kernel of floating-point values that goes over the same elements in the same order,
/// when their order allows it and SBUF holds the rows of all tensors of both. Values stay in fp32
/// in between, as in fuse_pointwise.h. `is_external`: whether a memory is read after the graph.
std::vector<GraphKernel> fuse_rows(std::vector<GraphKernel> kernels,
                                   const std::function<bool(size_t memory)>& is_external,
                                   const Architecture& architecture);

}  // namespace neuron_sim
