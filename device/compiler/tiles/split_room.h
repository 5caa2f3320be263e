#pragma once
// How many iterations of a loop can be split together before their tiles no longer fit the chip.

#include <functional>
#include <vector>

#include "device/compiler/line/loop_runs.h"
#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// The tiles that a loop uses, and its statements between which it does. One for all loops of a
/// line: the uses of a loop are read once, however many ways to split it are tried.
class SplitRoom {
 public:
  explicit SplitRoom(const StraightLine& line) : line_(line), statements_(line.tiles.size()) {}

  /// Starts anew with the instances of a loop.
  void note(const LoopRun& loop);
  /// Iterations, of the loop's `trips`, whose tiles that live from one piece to the next fit SBUF
  /// and PSUM; at most `trips`. `piece_of`: of a statement, in their order; below `pieces`.
  int64_t iterations(int64_t trips, size_t pieces,
                     const std::function<size_t(uint32_t)>& piece_of) const;

 private:
  struct Statements {
    size_t loop = 0;  ///< the last one that used the tile
    uint32_t first = 0, last = 0;
  };

  const StraightLine& line_;
  size_t loop_ = 0;
  std::vector<Statements> statements_;  ///< by tile
  std::vector<TileId> used_;            ///< by the loop
};

}  // namespace neuron_sim
