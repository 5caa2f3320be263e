#pragma once
// Tiles on chip laid side by side in one tile, so that one instruction can reach them all.

#include <map>
#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Where a tile lies within the tile it became part of.
struct TilePlace {
  TileId tile = kNoTile;
  int64_t bytes = 0;  ///< from the first byte of `tile`, within each partition
};

/// Merges that a pass tries, keeps or drops, and carries out together. A tile becomes part of at
/// most one other.
class TileMerges {
 public:
  /// The places of `parts` in one tile that holds them in this order (and maybe more). Empty when
  /// that is impossible: parts of different layout, placed by hand, part of different tiles
  /// already, in PSUM unless `psum`, or larger than a bank of it.
  std::vector<TilePlace> places(StraightLine& line, const std::vector<TileId>& parts, bool psum);
  /// Keeps, or discards, the merges requested since the last keep() or drop().
  void keep() { pending_.clear(); }
  void drop();
  /// Moves all operands on kept parts.
  void apply(StraightLine& line);

 private:
  std::map<TileId, TilePlace> place_of_;
  std::vector<TileId> pending_;
};

}  // namespace neuron_sim
