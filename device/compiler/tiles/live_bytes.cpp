#include "device/compiler/tiles/live_bytes.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace neuron_sim {

LiveBytes::LiveBytes(size_t count)
    : count_(std::bit_ceil(std::max<size_t>(count, 1))), nodes_(2 * count_) {}

void LiveBytes::add(size_t first, size_t last, int64_t amount) {
  if (first <= last) add(1, 0, count_ - 1, first, last, amount);
}

int64_t LiveBytes::largest(size_t first, size_t last) const {
  return first <= last ? largest(1, 0, count_ - 1, first, last) : 0;
}

void LiveBytes::add(size_t node, size_t low, size_t high, size_t first, size_t last,
                    int64_t amount) {
  if (last < low || high < first) return;
  if (first <= low && high <= last) {
    nodes_[node].added += amount;
    nodes_[node].largest += amount;
    return;
  }
  const size_t middle = (low + high) / 2;
  add(2 * node, low, middle, first, last, amount);
  add(2 * node + 1, middle + 1, high, first, last, amount);
  nodes_[node].largest =
      nodes_[node].added + std::max(nodes_[2 * node].largest, nodes_[2 * node + 1].largest);
}

int64_t LiveBytes::largest(size_t node, size_t low, size_t high, size_t first, size_t last) const {
  if (last < low || high < first) return std::numeric_limits<int64_t>::min() / 2;
  if (first <= low && high <= last) return nodes_[node].largest;
  const size_t middle = (low + high) / 2;
  return nodes_[node].added + std::max(largest(2 * node, low, middle, first, last),
                                       largest(2 * node + 1, middle + 1, high, first, last));
}

LiveBytes live_banks(const StraightLine& line, const TileUses& uses) {
  LiveBytes banks(line.instructions.size());
  const int64_t bank = line.architecture->limits.psum_bank.count;
  for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
    if (line.tiles[tile].memory != MemoryKind::kPsum) continue;
    const std::span<const TileUse> all = uses.of(static_cast<TileId>(tile));
    if (all.empty()) continue;
    banks.add(all.front().instance, all.back().instance,
              (line.tiles[tile].bytes + bank - 1) / bank);
  }
  return banks;
}

}  // namespace neuron_sim
