#pragma once
// Which tile lives where and when.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A stretch of time in which a tile holds something that is used: from a first touch to the last
/// one before another tile takes bytes of it.
struct TileLife {
  TileId tile = kNoTile;
  Picoseconds start{}, end{};
};

/// Follows the touches of on-chip tiles in the order of a walk.
class TileLives {
 public:
  explicit TileLives(const Program& program);

  /// An instance touches `tile` from `start` until `end`. A write ends the lives of other tiles
  /// that have bytes in common with it.
  void touch(TileId tile, bool writes, Picoseconds start, Picoseconds end);
  /// All lives, by start, then tile.
  std::vector<TileLife> finish();

 private:
  const Program& program_;
  std::vector<std::vector<TileId>> sharing_;  // by tile: others with common bytes
  std::vector<TileLife> open_;                // by tile; kNoTile while it does not live
  std::vector<TileLife> lives_;
};

/// Bytes that a tile takes of its memory, in all its partitions.
int64_t bytes_of(const Tile& tile);

}  // namespace neuron_sim
