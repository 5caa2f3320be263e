#pragma once
// From where to where tiles live, over the loops of a program.

#include <vector>

#include "device/analysis/place_tiles.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {

/// Lifetimes of tiles in positions of the program order: one per instruction, one for the begin and
/// one for the end of each loop. The cores of a program follow each other.
struct TileLifetimes {
  std::vector<Lifetime> of;            ///< per unplaced tile
  std::vector<uint32_t> instructions;  ///< per position, its instruction; loops have the maximum
};

/// Lifetimes as place_tiles() documents them. A tile that is touched after the loop it was
/// allocated in lives as one that was allocated outside of that loop.
TileLifetimes tile_lifetimes(const Program& program, const std::vector<UnplacedTile>& tiles);

}  // namespace neuron_sim
