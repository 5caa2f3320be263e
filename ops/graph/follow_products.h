#pragma once
// Joins pointwise kernels with the products before them: the expression is applied to the sums as
// they leave PSUM, so that no tensor between the two is stored.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Joins pointwise kernels with the kernels before them. One joins the last kernel before it whose
/// result it reads, when that one can be followed (FusionTraits::followed), nothing else reads the
/// result, both go over its elements dimension by dimension, and one of them can move to the place
/// of the other. The expression is one of arithmetic and activation functions: what Vector and
/// Scalar compute from PSUM. Kernels whose tiles would not fit SBUF together stay apart.
void follow_products(Graph& graph);

}  // namespace neuron_sim
