#pragma once
// Tiles in SBUF that stay alive instead of being filled again with the same contents.

#include <cstdint>
#include <map>
#include <vector>

#include "device/compiler/line/tile_uses.h"

namespace neuron_sim {

/// Bytes per partition that are not given to kept tiles: descriptors of the DMA rings lie there
/// (addresses in the four public attention traces).
inline constexpr int64_t kDescriptorBytes = 16'384;

/// Equal for tiles with the same contents and layout.
using ContentsKey = std::vector<int64_t>;

/// Adds the access pattern of an operand within its tile to a key; in HBM also the tile, on chip
/// the layout of the tile.
void append(ContentsKey& key, const Operand& operand, const Tile& tile);

/// A tile in SBUF that one load fills and that everything after only reads.
struct FilledTile {
  uint32_t instance = 0;  ///< the load
  TileId tile = kNoTile;
  ContentsKey key = {};
};

/// Whether `instance` is the first use of a tile that is not `placed` and all others are reads.
bool fills_alone(const StraightLine& line, const TileUses& uses, TileId tile, uint32_t instance);

/// Removes what fills a tile again with the contents of an earlier one, of whichever statement: the
/// readers read the earlier tile, which stays alive in between. For each statement all are removed,
/// over as many loops as `room` bytes per partition hold the live tiles in program order, or none;
/// where they do not hold them over all loops, other statements' tiles are left alone.
void keep_tiles(StraightLine& line, const TileUses& uses, const std::vector<FilledTile>& filled,
                int64_t room);

}  // namespace neuron_sim
