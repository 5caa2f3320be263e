#pragma once
// Scheduling edges that contradict the order in which a kernel was written.

#include "device/program/program.h"

namespace neuron_sim {

/// Moves consumers of edges after their producers where the kernel has them the other way around,
/// with everything that depends on the consumer; the rest keeps its order. For programs whose tiles
/// have no addresses yet, except those placed by hand. KernelError when a producer depends on its
/// consumer.
void order_by_edges(Program& program);

}  // namespace neuron_sim
