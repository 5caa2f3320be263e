#include "device/compiler/tiles/tile_merges.h"

#include <algorithm>
#include <functional>

namespace neuron_sim {
namespace {

bool same_layout(const Tile& a, const Tile& b) {
  return a.memory == b.memory && a.dtype == b.dtype && a.bytes == b.bytes &&
         a.start_partition == b.start_partition && a.partitions == b.partitions;
}

bool can_merge(const StraightLine& line, const std::vector<TileId>& parts, bool psum) {
  const Tile& first = line.tiles[static_cast<size_t>(parts.front())];
  const auto bytes = first.bytes * static_cast<int64_t>(parts.size());
  if (first.memory == MemoryKind::kPsum) {
    if (!psum || bytes > line.architecture->limits.psum_bank.count) return false;
  } else if (first.memory != MemoryKind::kSbuf) {
    return false;
  }
  const bool ascending =
      std::adjacent_find(parts.begin(), parts.end(), std::greater_equal<>()) == parts.end();
  if (!ascending) {
    std::vector<TileId> sorted = parts;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
  }
  return std::all_of(parts.begin(), parts.end(), [&](TileId part) {
    const Tile& tile = line.tiles[static_cast<size_t>(part)];
    return !tile.placed && same_layout(first, tile);
  });
}

}  // namespace

std::vector<TilePlace> TileMerges::places(StraightLine& line, const std::vector<TileId>& parts,
                                          bool psum) {
  std::vector<TilePlace> places;
  places.reserve(parts.size());
  for (const TileId part : parts) {
    const TilePlace known = place_of(part);
    if (known.tile != kNoTile) places.push_back(known);
  }
  if (!places.empty()) {
    const bool together = places.size() == parts.size() &&
                          std::all_of(places.begin(), places.end(), [&](const TilePlace& place) {
                            return place.tile == places.front().tile;
                          });
    return together ? places : std::vector<TilePlace>{};
  }
  if (!can_merge(line, parts, psum)) return {};
  const TileId merged = add_version(line, parts.front());
  const int64_t bytes = line.tiles[static_cast<size_t>(merged)].bytes;
  line.tiles[static_cast<size_t>(merged)].bytes = bytes * static_cast<int64_t>(parts.size());
  for (const TileId part : parts) {
    places.push_back({merged, bytes * static_cast<int64_t>(places.size())});
    place_of_.resize(std::max(place_of_.size(), static_cast<size_t>(part) + 1));
    place_of_[static_cast<size_t>(part)] = places.back();
    pending_.push_back(part);
  }
  return places;
}

void TileMerges::drop(size_t kept) {
  for (; pending_.size() > kept; pending_.pop_back()) {
    place_of_[static_cast<size_t>(pending_.back())] = {};
  }
}

void TileMerges::apply(StraightLine& line) {
  drop();
  if (place_of_.empty()) return;
  for (StraightOperand& operand : line.operands) {
    if (!operand.present()) continue;
    const TilePlace place = place_of(operand.tile);
    if (place.tile == kNoTile) continue;
    move_to_tile(line, operand, place.tile);
    operand.offset += place.bytes;
  }
  place_of_.clear();
}

}  // namespace neuron_sim
