#include "device/observe/tile_life.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace neuron_sim {
namespace {

bool on_chip(const Tile& tile) {
  return tile.memory == MemoryKind::kSbuf || tile.memory == MemoryKind::kPsum;
}

bool same_partitions(const Tile& a, const Tile& b) {
  return a.start_partition < b.start_partition + b.partitions &&
         b.start_partition < a.start_partition + a.partitions;
}

/// By tile, the others with bytes in common.
std::vector<std::vector<TileId>> sharing(const std::vector<Tile>& tiles) {
  std::vector<TileId> order;
  for (size_t i = 0; i < tiles.size(); ++i) {
    if (on_chip(tiles[i])) order.push_back(static_cast<TileId>(i));
  }
  const auto tile = [&](TileId id) -> const Tile& { return tiles[static_cast<size_t>(id)]; };
  std::ranges::stable_sort(order, {}, [&](TileId id) {
    return std::tuple(tile(id).core, tile(id).memory, tile(id).address);
  });
  std::vector<std::vector<TileId>> result(tiles.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const Tile& a = tile(order[i]);
    for (size_t j = i + 1; j < order.size(); ++j) {
      const Tile& b = tile(order[j]);
      if (b.core != a.core || b.memory != a.memory || b.address >= a.address + a.bytes) break;
      if (!same_partitions(a, b)) continue;
      result[static_cast<size_t>(order[i])].push_back(order[j]);
      result[static_cast<size_t>(order[j])].push_back(order[i]);
    }
  }
  return result;
}

}  // namespace

TileLives::TileLives(const Program& program)
    : program_(program), sharing_(sharing(program.tiles)), open_(program.tiles.size()) {}

void TileLives::touch(TileId tile, bool writes, Picoseconds start, Picoseconds end) {
  const auto index = static_cast<size_t>(tile);
  if (!on_chip(program_.tiles[index])) return;
  TileLife& own = open_[index];
  if (own.tile == kNoTile) own = {tile, start, end};
  own.start = std::min(own.start, start);
  own.end = std::max(own.end, end);
  if (!writes) return;
  for (const TileId other : sharing_[index]) {
    TileLife& ended = open_[static_cast<size_t>(other)];
    if (ended.tile == kNoTile) continue;
    // Engines overlap a little where one order is enough: the bytes are the writer's from `start`.
    if (ended.start < start) ended.end = std::min(ended.end, start);
    lives_.push_back(ended);
    ended = {};
  }
}

std::vector<TileLife> TileLives::finish() {
  for (TileLife& life : open_) {
    if (life.tile != kNoTile) lives_.push_back(life);
    life = {};
  }
  std::ranges::sort(
      lives_, {}, [](const TileLife& life) { return std::tuple(life.start, life.tile, life.end); });
  return std::move(lives_);
}

int64_t bytes_of(const Tile& tile) {
  return tile.memory == MemoryKind::kHbm ? tile.bytes : tile.bytes * tile.partitions;
}

}  // namespace neuron_sim
