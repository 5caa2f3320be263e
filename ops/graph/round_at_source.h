#pragma once
// Casts of results disappear: the kernel before writes them in the dtype that its reader wants.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Leaves out every kernel that only rounds the first result of another one (which
/// FusionTraits::rounds_result allows) to the dtype of that one's operands, when nothing else reads
/// the unrounded result: it is written rounded, with the same bytes. So the operands of products
/// that are multiplied in 16 bits never exist in fp32.
void round_at_source(Graph& graph);

/// Leaves out results that nothing reads and that their kernels can do without
/// (FusionTraits::needed_results).
void drop_unread_results(Graph& graph);

}  // namespace neuron_sim
