#pragma once
// Tiles in SBUF that stay alive instead of being filled again with the same contents.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {

/// Bytes per partition that are not given to kept tiles: descriptors of the DMA rings lie there
/// (addresses in the four public attention traces).
inline constexpr int64_t kDescriptorBytes = 16'384;

/// Equal for tiles with the same contents and layout.
using ContentsKey = std::vector<int64_t>;

/// Adds the access pattern of an operand within its tile to a key; in HBM also the tile, on chip
/// the layout of the tile.
void append(ContentsKey& key, const StraightLine& line, const StraightOperand& operand);

struct ContentsHash {
  size_t operator()(const ContentsKey& key) const;
};

/// A tile in SBUF that one load fills and that everything after only reads.
struct FilledTile {
  uint32_t instance = 0;  ///< the load
  TileId tile = kNoTile;
  size_t contents = 0;  ///< number of its ContentsKey
};

/// Removes what fills a tile again with the contents of an earlier one, of whichever statement: the
/// readers read the earlier tile, which stays alive in between, as far as `room` bytes per
/// partition hold the tiles that live in program order. What inner loops fill again is kept before
/// what outer ones do, because it saves most for the time that it lives (as G. J. Chaitin weighs
/// what to spill: "Register allocation & spilling via graph coloring", SIGPLAN 1982); ties go
/// to what is filled first. Whatever does not fit is filled again. With `loads_in_time` the filled
/// tiles live from where their loads are issued (input_loads.h).
void keep_tiles(StraightLine& line, const TileUses& uses, const std::vector<FilledTile>& filled,
                int64_t room, bool loads_in_time);

}  // namespace neuron_sim
