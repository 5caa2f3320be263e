#include <algorithm>
#include <map>

#include "device/compiler/back_end/allocate.h"
#include "device/compiler/line/input_loads.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Bytes of `placed` tiles: first byte, end.
std::map<int64_t, int64_t> placed_bytes(const StraightLine& line) {
  std::map<int64_t, int64_t> taken;
  for (const Tile& tile : line.tiles) {
    if (tile.memory != MemoryKind::kSbuf || !tile.placed) continue;
    taken[tile.address] = std::max(taken[tile.address], tile.address + tile.bytes);
  }
  return taken;
}

/// Lets tiles that loads fill live from where the loads are issued, at the earliest after the last
/// store to the tensor that they load from.
void start_loads_in_time(const StraightLine& line, std::vector<Lifetime>& lives) {
  const IssuePositions issue(line);
  std::vector<uint32_t> stored(line.tiles.size());  // one more than the last store to the tensor
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const auto operands = line.operands_of(line.instructions[i]);
    if (line.instructions[i].instruction.type == &kDmaCopy) {
      const StraightOperand &dst = operands[DmaCopy::kDst], &src = operands[DmaCopy::kSrc];
      if (src.memory == MemoryKind::kHbm && dst.memory == MemoryKind::kSbuf) {
        uint32_t& first = lives[static_cast<size_t>(dst.tile)].first;
        first = std::min(first, std::max(issue.of(i), stored[static_cast<size_t>(src.tile)]));
      }
    }
    for (const StraightOperand& operand : operands) {
      if (operand.memory == MemoryKind::kHbm && operand.writes()) {
        stored[static_cast<size_t>(operand.tile)] = i + 1;
      }
    }
  }
}

}  // namespace

std::vector<Lifetime> lifetimes(const StraightLine& line) {
  std::vector<Lifetime> result(line.tiles.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    for (const StraightOperand& operand : line.operands_of(line.instructions[i])) {
      if (!operand.present()) continue;
      Lifetime& lifetime = result[static_cast<size_t>(operand.tile)];
      lifetime.first = std::min(lifetime.first, i);
      lifetime.last = std::max(lifetime.last, i);
    }
  }
  return result;
}

bool allocate_sbuf(StraightLine& line, SbufReuse reuse, bool loads_in_time) {
  std::vector<Lifetime> lives = lifetimes(line);
  if (loads_in_time) start_loads_in_time(line, lives);
  std::vector<TileId> order;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const Tile& tile = line.tiles[i];
    const bool wanted = tile.memory == MemoryKind::kSbuf && !tile.placed && lives[i].used();
    if (wanted) order.push_back(static_cast<TileId>(i));
  }
  const auto life = [&](TileId tile) { return lives[static_cast<size_t>(tile)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](TileId a, TileId b) { return life(a).first < life(b).first; });
  SlotAllocator slots(line.architecture->limits.sbuf_usable.count, placed_bytes(line), reuse);
  std::vector<int64_t> addresses(line.tiles.size(), -1);
  for (const TileId id : order) {
    const auto tile = static_cast<size_t>(id);
    addresses[tile] = slots.place(SlotAllocator::rounded(line.tiles[tile].bytes), life(id));
    if (addresses[tile] < 0) return false;
  }
  move_tiles(line, addresses);
  return true;
}

}  // namespace neuron_sim
