#pragma once
// Which tiles of SBUF are alive where, in the program order of a straight line.

#include <cstdint>
#include <vector>

#include "device/compiler/tiles/live_bytes.h"
#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {

/// A tile lives from its first to its last use. Passes that let one live longer update both.
struct SbufLives {
  SbufLives(const StraightLine& line, const TileUses& uses);

  LiveBytes bytes;                 ///< per partition, at each instance
  std::vector<uint32_t> last_use;  ///< per tile: an instance; 0 without uses or in another memory
};

}  // namespace neuron_sim
