#include "device/compiler/tiles/live_bytes.h"

#include <algorithm>
#include <bit>

namespace neuron_sim {

LiveBytes::LiveBytes(size_t count)
    : count_(std::bit_ceil(std::max<size_t>(count, 1))), nodes_(2 * count_) {}

void LiveBytes::add(size_t first, size_t last, int64_t amount) {
  if (first > last) return;
  const auto raise = [&](size_t node) {
    nodes_[node].added += amount;
    nodes_[node].largest += amount;
  };
  for (size_t low = count_ + first, end = count_ + last + 1; low < end; low /= 2, end /= 2) {
    if (low % 2 == 1) raise(low++);
    if (end % 2 == 1) raise(--end);
  }
  const auto renew = [&](size_t node) {
    nodes_[node].largest =
        nodes_[node].added + std::max(nodes_[2 * node].largest, nodes_[2 * node + 1].largest);
  };
  for (size_t low = (count_ + first) / 2, high = (count_ + last) / 2; low > 0; low /= 2) {
    renew(low);
    if (high != low) renew(high);
    high /= 2;
  }
}

int64_t LiveBytes::largest(size_t first, size_t last) const {
  if (first > last) return 0;
  size_t low = count_ + first, high = count_ + last;
  int64_t left = nodes_[low].largest, right = nodes_[high].largest;
  while (low / 2 != high / 2) {
    if (low % 2 == 0) left = std::max(left, nodes_[low + 1].largest);
    if (high % 2 == 1) right = std::max(right, nodes_[high - 1].largest);
    low /= 2;
    high /= 2;
    left += nodes_[low].added;
    right += nodes_[high].added;
  }
  int64_t result = std::max(left, right);
  for (size_t node = low / 2; node > 0; node /= 2) result += nodes_[node].added;
  return result;
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
