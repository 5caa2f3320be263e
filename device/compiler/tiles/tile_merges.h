#pragma once
// Tiles on chip laid side by side in one tile, so that one instruction can reach them all.

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
  void drop() { drop(0); }
  /// How many parts the merges since then have.
  size_t pending() const { return pending_.size(); }
  /// Discards all but the first `kept` of these parts.
  void drop(size_t kept);
  /// Moves all operands on kept parts.
  void apply(StraightLine& line);

 private:
  TilePlace place_of(TileId tile) const {
    const auto index = static_cast<size_t>(tile);
    return index < place_of_.size() ? place_of_[index] : TilePlace{};
  }

  std::vector<TilePlace> place_of_;  ///< per tile, up to the last one that became a part
  std::vector<TileId> pending_;
};

}  // namespace neuron_sim
