#pragma once
// How much of a memory is in use at each instance of the program order.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {

/// Amounts over positions 0 .. count - 1. O(log count) per call.
class LiveBytes {
 public:
  explicit LiveBytes(size_t count);
  /// Adds `amount` at every position of [first, last].
  void add(size_t first, size_t last, int64_t amount);
  /// The largest amount within [first, last]; 0 for an empty range.
  int64_t largest(size_t first, size_t last) const;

 private:
  struct Node {
    int64_t added = 0;    ///< to all positions below
    int64_t largest = 0;  ///< of the positions below, with `added`
  };

  size_t count_;             ///< of leaves, a power of two
  std::vector<Node> nodes_;  ///< node i is the parent of 2 i and 2 i + 1; the leaves come last
};

/// Banks of PSUM that hold a tile at each instance of the program order.
LiveBytes live_banks(const StraightLine& line, const TileUses& uses);

}  // namespace neuron_sim
