#pragma once
// Lets kernels of a graph that compute the same share one result.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Leaves out a kernel that computes what an earlier one did: what reads its results reads those of
/// the earlier one, which have the same bytes. Models compute masks and rotary positions anew in
/// every layer.
///
/// Two kernels compute the same when their traits state the same computation, on the same operands
/// that nothing writes in between, with results of one dense layout. The later one stays where its
/// results are external, where another kernel writes them, or the earlier results later, and where
/// a reader sees them as another dtype.
void share_results(Graph& graph);

}  // namespace neuron_sim
