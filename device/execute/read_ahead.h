#pragma once
// Which operands in HBM an instance of the Tensor engine brings towards the processor for a later
// one.

#include "device/execute/plan.h"

namespace neuron_sim {

/// Gives each product of a graph at most one operand in HBM that an instance soon after it in
/// program order reads (PlannedInstance::later), and transposes what products before them cannot
/// bring. Loads in place would otherwise wait for memory where copies had waited for it.
void read_ahead(const Program& program, InstanceGraph& graph);

}  // namespace neuron_sim
