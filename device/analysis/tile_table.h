#pragma once
// Live tiles as a table for people: in errors of memory and in memory_listing().

#include <string>
#include <vector>

#include "device/analysis/tile_lifetimes.h"

namespace neuron_sim {

/// Tiles of one memory of one core: all that are used, and a position of the program.
struct TilesAt {
  const Program& program;
  const std::vector<UnplacedTile>& tiles;
  const TileLifetimes& lifetimes;
  const std::vector<size_t>& used;  ///< indices of `tiles`
  uint32_t position = 0;
  int64_t placed_by_hand = 0;  ///< bytes per partition besides `tiles`, live throughout

  /// Bytes per partition live at the position.
  int64_t live_bytes() const;
  /// "'memset' (kernel.py:3)", "a loop": what happens at the position.
  std::string place() const;
  /// "kernel.py:3"; empty for a loop and for instructions without a line.
  std::string source_line() const;
};

/// Which tiles the table has.
enum class TableRows : uint8_t {
  kLive,  ///< those live at the position
  kAll,   ///< all, with how many of them are live then
};

/// A row per tensor, size, dtype and line where it was made: its shape [partitions, elements],
/// bytes per partition of one tile, how many are live, their sum, the lines of its first and last
/// use, the line that made it (which finished programs have forgotten). The largest sum first.
/// Below are the bytes placed by hand, the sum and the `capacity`. Every line ends with a newline.
std::string tile_table(const TilesAt& tiles, int64_t capacity, TableRows rows);

}  // namespace neuron_sim
