#pragma once
// Copies of tiles that leave the chip, or PSUM, and come back.

#include <cstdint>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Partitions and bytes within a tile, from its first ones.
struct TileBox {
  int32_t partition = 0, partitions = 0;
  int64_t low = 0, high = 0;

  bool is_empty() const { return partitions == 0; }
  /// Bytes of all partitions.
  int64_t bytes() const { return partitions * (high - low); }
};

/// The smallest box that contains both.
TileBox bounding(const TileBox& a, const TileBox& b);
/// The whole elements of its tile that an operand on chip touches, as a box. In PSUM all
/// partitions, because copies start at few partitions only.
TileBox box_of(const StraightLine& line, const Operand& operand);

/// A place with the layout of a tile: a scratch tensor in HBM for SBUF, a tile in SBUF for PSUM.
TileId add_slot(StraightLine& line, TileId tile);

/// An instance that copies a box of `source` to `target`, of which one is a slot of the other's
/// layout: by DMA, or by an engine when both are on chip. It belongs to the loops of `neighbour`.
StraightInstruction copy_of_tile(StraightLine& line, TileId target, TileId source,
                                 const TileBox& box, const StraightInstruction& neighbour);

}  // namespace neuron_sim
