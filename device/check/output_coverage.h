#pragma once
// Outputs that are proven complete without looking at their bytes.

#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Per tile: an HBM tensor that the program writes as many bytes of as it has, and none of them
/// twice (Tile::hazard_group tells). False where that is not known.
std::vector<bool> complete_outputs(const Program& program);

}  // namespace neuron_sim
