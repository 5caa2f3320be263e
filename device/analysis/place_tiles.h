#pragma once
// Automatic placement: addresses for tiles whose lifetimes follow from the finished program.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A tile, or a ring of adjacent tiles, without an address yet: its first tile is at 0.
struct UnplacedTile {
  TileId first = kNoTile;
  int32_t count = 1;
  int64_t pitch = 0;            ///< bytes from tile to tile, a multiple of the allocation step
  std::vector<uint32_t> loops;  ///< open where it was allocated, outermost first
  int32_t source_line = -1;     ///< where it was allocated
};

/// What becomes of a program whose tiles do not fit SBUF or PSUM.
enum class Overflow : uint8_t {
  kRefused,  ///< KernelError
  kSpilled,  ///< it is left to the compiler (compile(), device/compiler)
};

/// Assigns addresses to all `tiles` of a program; operands follow. A tile is live from the first to
/// the last instruction that touches it, in the block where it was allocated: a loop inside that
/// block counts as a whole. Tiles that are never live together may share bytes, and do when the
/// memory is full; tiles placed by hand keep theirs for the whole program. Tiles that nothing
/// touches take no space: they have 0 bytes afterwards. KernelError(kOutOfMemory) lists all tiles
/// live at the peak.
///
/// Space is taken in the order of allocate_sbuf (device/compiler): unused space first, then what
/// was freed first, so that as few tiles as possible wait for each other. If that does not fit,
/// larger tiles go first, each to the lowest address.
///
/// With Overflow::kSpilled, tiles that do not fit get addresses beyond the end of their memory and
/// Program::overflow says so: the program computes its bytes, but no chip runs it before the
/// compiler spilled some of its tiles. It is an error nevertheless when the tiles of one
/// instruction do not fit.
void place_tiles(Program& program, const std::vector<UnplacedTile>& tiles,
                 Overflow overflow = Overflow::kRefused);

}  // namespace neuron_sim
