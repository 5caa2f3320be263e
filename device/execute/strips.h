#pragma once
// Chains of element-wise instructions over large tiles run strip by strip: all of them on a few
// partitions, whose values stay in the caches of the processor, then on the next ones.

#include <cstdint>
#include <vector>

#include "device/execute/plan.h"

namespace neuron_sim {

/// Partitions of a strip whose longest operand has `elements` elements in each.
int64_t strip_partitions(int64_t elements);

/// The first instance of each node of a graph, and their number at the end: neighbours of one
/// iteration form a node when every partition of their results depends on that partition of their
/// operands alone, and they have more partitions than a strip. Strips then give the bytes of the
/// program's order.
std::vector<uint32_t> find_nodes(const Program& program, const InstanceGraph& graph);

}  // namespace neuron_sim
