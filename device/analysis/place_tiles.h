#pragma once
// Automatic placement: addresses for tiles whose lifetimes follow from the finished program.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A tile, or a ring of them side by side, that has no address yet: that of its first tile is 0.
struct UnplacedTile {
  TileId first = kNoTile;
  int32_t count = 1;
  int64_t pitch = 0;            ///< bytes from tile to tile, whole allocation steps
  std::vector<uint32_t> loops;  ///< open where it was allocated, outermost first
  int32_t source_line = -1;     ///< where it was allocated
};

/// Gives all `tiles` of a program addresses; their operands follow. A tile lives from the first to
/// the last instruction that touches it, in the block where it was allocated: a loop inside that
/// block counts as a whole. Tiles that never live together may share bytes, and do when the memory
/// is full; tiles that were placed by hand keep theirs for the whole program. Tiles that nothing
/// touches take no space: they have 0 bytes afterwards. KernelError(kOutOfMemory) lists all tiles
/// that live at the peak.
///
/// The order of spaces is that of allocate_sbuf (device/passes): unused space first, then what was
/// freed first, so that as few tiles as possible wait for each other. Where that does not fit,
/// larger tiles go first, each to the lowest address.
void place_tiles(Program& program, const std::vector<UnplacedTile>& tiles);

}  // namespace neuron_sim
