#pragma once
// Joins pointwise kernels of a graph: a chain's values stay in SBUF from its first operand to its
// last result, instruction after instruction, and values that only it uses are never stored.

#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// Steps, operands and results of a joined expression, at most: more values than fit SBUF in tiles
/// of a useful size would be slower than two kernels.
inline constexpr size_t kMaximumJoinedSteps = 48;
inline constexpr size_t kMaximumJoinedOperands = 10;
inline constexpr size_t kMaximumJoinedResults = 4;

/// Joins pointwise kernels. A kernel joins the one that computes an operand of it when both go over
/// the same elements, whatever their shapes, and one of them can move to the place of the other.
/// Values that lose nothing by it stay in fp32 in between: results in fp16 and bf16 are rounded
/// where they are stored, not where the chain continues with them; results in integers of widths
/// other than 32 bits end a chain.
/// Those that are not external are stored only when a kernel outside of the chain reads them.
void fuse_pointwise(Graph& graph);

}  // namespace neuron_sim
