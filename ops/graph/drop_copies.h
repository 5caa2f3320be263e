#pragma once
// Leaves copies within a graph out: one side of a copy is enough.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Leaves out copies of which one side is scratch memory. What reads the result reads the source,
/// where nothing else writes the result; or the kernel that writes the source, which nothing else
/// reads, writes the result. The bytes are the same.
///
/// A copy stays where it exchanges rows and columns, or more short rows would be read than the copy
/// reads; where a kernel goes over its elements in dimensions that the other side does not have;
/// where the source is overwritten later; and where a kernel states no traits: those that do take
/// any strides.
void drop_copies(Graph& graph);

}  // namespace neuron_sim
