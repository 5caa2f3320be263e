#include "device/analysis/hazard_groups.h"

namespace neuron_sim {

std::vector<size_t> tiles_of_hazard_groups(const Program& program) {
  std::vector<size_t> result(static_cast<size_t>(program.hazard_groups));
  for (const Tile& tile : program.tiles) {
    if (tile.hazard_group >= 0) ++result[static_cast<size_t>(tile.hazard_group)];
  }
  return result;
}

}  // namespace neuron_sim
