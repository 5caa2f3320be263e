#pragma once
// Which operands in HBM a product brings towards the processor for a later one.

#include "device/execute/plan.h"

namespace neuron_sim {

/// Gives each product of a graph at most one operand in HBM that a product soon after it in program
/// order reads (PlannedInstance::later). Loads in place would otherwise wait for memory where
/// copies had waited for it.
void read_ahead(const Program& program, InstanceGraph& graph);

}  // namespace neuron_sim
