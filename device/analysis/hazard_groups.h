#pragma once
// Tiles that share one history because their bytes overlap.

#include <cstddef>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// How many tiles each hazard group of a program has.
std::vector<size_t> tiles_of_hazard_groups(const Program& program);

/// Histories of all hazard groups, empty, each for as many tiles as the group has.
template <typename History>
std::vector<History> histories_of_hazard_groups(const Program& program) {
  const std::vector<size_t> tiles = tiles_of_hazard_groups(program);
  return std::vector<History>(tiles.begin(), tiles.end());
}

}  // namespace neuron_sim
