#pragma once
// Live ranges of tiles over the loops of a program.

#include <string>
#include <vector>

#include "device/analysis/place_tiles.h"
#include "device/memory/slot_allocator.h"

namespace neuron_sim {

/// Lifetimes of tiles in positions of the program order: one per instruction, one for the beginning
/// and one for the end of each loop. Cores follow one another.
struct TileLifetimes {
  std::vector<Lifetime> of;            ///< per unplaced tile
  std::vector<uint32_t> instructions;  ///< per position, its instruction; loops have the maximum
};

/// Lifetimes as place_tiles() documents them. A tile that is touched after the loop it was
/// allocated in counts as allocated outside that loop.
TileLifetimes tile_lifetimes(const Program& program, const std::vector<UnplacedTile>& tiles);

/// Bytes that are live at most, and where first.
struct LivePeak {
  int64_t bytes = 0;
  uint32_t position = 0;
};
/// That of `chosen` tiles (indices of `tiles`, each used), beside `taken` bytes that are live
/// throughout.
LivePeak live_peak(const std::vector<UnplacedTile>& tiles, const TileLifetimes& lifetimes,
                   const std::vector<size_t>& chosen, int64_t taken = 0);

/// The tensor that a tile belongs to, by its label: the label without the index of a block.
std::string tensor_of(const std::string& label);

}  // namespace neuron_sim
