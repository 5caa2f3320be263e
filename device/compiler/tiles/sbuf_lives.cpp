#include "device/compiler/tiles/sbuf_lives.h"

namespace neuron_sim {

SbufLives::SbufLives(const StraightLine& line, const TileUses& uses)
    : bytes(line.instructions.size()), last_use(line.tiles.size()) {
  for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
    const std::span<const TileUse> all = uses.of(static_cast<TileId>(tile));
    if (all.empty() || line.tiles[tile].memory != MemoryKind::kSbuf) continue;
    last_use[tile] = all.back().instance;
    bytes.add(all.front().instance, all.back().instance, line.tiles[tile].bytes);
  }
}

}  // namespace neuron_sim
