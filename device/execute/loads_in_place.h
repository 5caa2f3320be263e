#pragma once
// Loads that need not happen on the host: tiles whose readers find the same bytes in the HBM tensor
// that they come from, on-chip transposes between the two included.

#include <vector>

#include "device/execute/operands_in_place.h"

namespace neuron_sim {

/// Finds the transfers from tensors that the program never writes whose bytes in SBUF only operands
/// of products and of element-wise instructions read, each within one transfer, before they are
/// overwritten. Copying them first would take as long as reading them from HBM. So do the
/// transposes and copies that bring loaded bytes to where products alone read them, few times.
/// Programs with edges keep all of theirs. `instances` are all of a program without registers, in
/// program order; the `locations` of operands replaced become those in HBM. The bytes that a
/// program stores do not change, those that it leaves in SBUF do.
void find_loads_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                         std::vector<Location>& locations, OperandsInPlace& result);

}  // namespace neuron_sim
