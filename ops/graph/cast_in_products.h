#pragma once
// Casts of narrow weights disappear: the products that read them cast on chip.

#include <functional>
#include <vector>

#include "ops/graph/graph_kernel.h"

namespace neuron_sim {

/// Products read int8 tensors themselves where another kernel would only
/// cast them to the products' dtype, and that kernel is left out once nothing else reads its
/// result. So int8 weights stay bytes in HBM, as the vendor keeps them. `is_external`: whether a
/// memory is read after the graph.
std::vector<GraphKernel> cast_in_products(std::vector<GraphKernel> kernels,
                                          const std::function<bool(size_t memory)>& is_external);

}  // namespace neuron_sim
