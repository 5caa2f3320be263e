#pragma once
// Casts of narrow weights disappear: the products that read them cast on chip.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Products read int8 tensors themselves where another kernel would only
/// cast them to the products' dtype, and that kernel is left out once nothing else reads its
/// result. So int8 weights stay bytes in HBM, as the vendor keeps them.
void cast_in_products(Graph& graph);

}  // namespace neuron_sim
