#pragma once
// Stores that need not happen on the host: results that element-wise instructions write into the
// HBM tensor at once.

#include <vector>

#include "device/execute/operands_in_place.h"

namespace neuron_sim {

/// Finds the transfers to tensors that the program writes once and never reads whose bytes in SBUF
/// element-wise instructions wrote, each within the transfer, and nothing else reads before they
/// are overwritten. Otherwise like find_loads_in_place(), and after it.
void find_stores_in_place(const Program& program, const std::vector<PlannedInstance>& instances,
                          std::vector<Location>& locations, OperandsInPlace& result);

}  // namespace neuron_sim
