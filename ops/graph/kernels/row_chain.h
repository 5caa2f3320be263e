#pragma once
// A row program of a graph together with the pointwise kernels before and after it.

#include <optional>

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// The kernel `rows`, a row program, that also computes the pointwise kernel `before`, of which it
/// reads a result. All results of both are results of it. Empty when the two go over
/// other elements, when no operand is a result of `before` or one is otherwise made of its bytes.
std::optional<GraphKernel> after_pointwise(const GraphKernel& before, const GraphKernel& rows);

/// The kernel `rows` that also computes the pointwise kernel `after`, which reads results of it.
std::optional<GraphKernel> before_pointwise(const GraphKernel& rows, const GraphKernel& after);

/// The row program with only the results that `kept` selects, one at least.
GraphKernel with_results(const GraphKernel& rows, const std::vector<bool>& kept);

}  // namespace neuron_sim
