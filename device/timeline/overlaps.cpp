#include "device/timeline/overlaps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "device/base/errors.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {
namespace {

bool on_chip(const Tile& tile) {
  return tile.memory == MemoryKind::kSbuf || tile.memory == MemoryKind::kPsum;
}

bool share_bytes(const Tile& a, const Tile& b) {
  return a.memory == b.memory && (a.placed || b.placed) && a.address < b.address + b.bytes &&
         b.address < a.address + a.bytes && a.start_partition < b.start_partition + b.partitions &&
         b.start_partition < a.start_partition + a.partitions;
}

/// Common bytes of two tensors; several tiles of a ring may share several ranges, which are merged
/// into one.
struct Shared {
  MemoryKind memory;
  int64_t begin, end;
};

/// By the labels of the two tensors.
std::map<std::pair<std::string, std::string>, Shared> shared_bytes(const Program& program) {
  std::vector<const Tile*> tiles;
  for (const Tile& tile : program.tiles) {
    if (on_chip(tile)) tiles.push_back(&tile);
  }
  std::stable_sort(tiles.begin(), tiles.end(), [](const Tile* a, const Tile* b) {
    return std::tie(a->memory, a->address) < std::tie(b->memory, b->address);
  });
  std::map<std::pair<std::string, std::string>, Shared> result;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const int64_t end = tiles[i]->address + tiles[i]->bytes;
    for (size_t j = i + 1;
         j < tiles.size() && tiles[j]->memory == tiles[i]->memory && tiles[j]->address < end; ++j) {
      if (!share_bytes(*tiles[i], *tiles[j])) continue;
      const Tile& a = *std::min(tiles[i], tiles[j]);  // in the order they were placed
      const Tile& b = *std::max(tiles[i], tiles[j]);
      const Shared both{a.memory, std::max(a.address, b.address),
                        std::min(a.address + a.bytes, b.address + b.bytes)};
      Shared& shared = result.try_emplace({a.label, b.label}, both).first->second;
      shared.begin = std::min(shared.begin, both.begin);
      shared.end = std::max(shared.end, both.end);
    }
  }
  return result;
}

/// The program with a separate history for every tile that was placed by hand.
Program without_overlaps(const Program& program) {
  Program apart = program;
  for (Tile& tile : apart.tiles) {
    if (tile.placed) tile.hazard_group = apart.hazard_groups++;
  }
  return apart;
}

}  // namespace

OverlapReport report_overlaps(const Program& program) {
  OverlapReport report;
  const bool by_hand = std::any_of(program.tiles.begin(), program.tiles.end(),
                                   [](const Tile& tile) { return tile.placed; });
  if (!by_hand) return report;
  for (const auto& [labels, shared] : shared_bytes(program)) {
    report.tiles.push_back(text(labels.first, " and ", labels.second, " share bytes [",
                                shared.begin, ", ", shared.end, ") of ", name(shared.memory)));
  }
  if (report.tiles.empty()) return report;
  report.lost = simulate(program).body - simulate(without_overlaps(program)).body;
  return report;
}

}  // namespace neuron_sim
