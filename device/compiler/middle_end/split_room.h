#pragma once
// How many iterations of a loop can be split together before their tiles no longer fit the chip.

#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// Collects which pieces of a split loop use which tiles. One for all loops of a line: a loop costs
/// the time of its own uses.
class SplitRoom {
 public:
  explicit SplitRoom(const StraightLine& line) : line_(line), pieces_(line.tiles.size()) {}

  /// Starts anew, for a loop in that many pieces.
  void begin(size_t pieces);
  /// Notes that a piece uses a tile on chip; others are ignored.
  void use(const Operand& operand, size_t piece);
  /// Iterations, of `trips` whose uses were noted, whose tiles that live from one piece to the next
  /// fit SBUF and PSUM; at most `trips`.
  int64_t iterations(int64_t trips) const;

 private:
  struct Pieces {
    size_t loop = 0;  ///< the last one that used the tile
    size_t first = 0, last = 0;
  };

  const StraightLine& line_;
  size_t loop_ = 0, count_ = 0;
  std::vector<Pieces> pieces_;  ///< by tile
  std::vector<TileId> used_;    ///< by the loop
};

}  // namespace neuron_sim
