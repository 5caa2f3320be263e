#pragma once
// Scheduling edges against the order in which a kernel was written.

#include "device/program/program.h"

namespace neuron_sim {

/// Moves consumers of edges after their producers where the kernel has them the other way around,
/// and with a consumer what needs it; everything else keeps its order. For programs whose tiles
/// have no addresses yet, but for those placed by hand. KernelError when a producer needs its
/// consumer.
void order_by_edges(Program& program);

}  // namespace neuron_sim
