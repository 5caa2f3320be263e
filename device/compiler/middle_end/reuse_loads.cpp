#include "device/compiler/middle_end/reuse_loads.h"

#include <algorithm>

#include "device/compiler/line/input_loads.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Whether `instance` is the first use of a tile that is not `placed` and all others are reads.
bool fills_alone(const StraightLine& line, const TileUses& uses, TileId tile, uint32_t instance) {
  const std::span<const TileUse> all = uses.of(tile);
  const auto reads = [&](const TileUse& use) {
    return operand_at(line, use).direction == Direction::kRead;
  };
  return !line.tiles[static_cast<size_t>(tile)].placed && all.front().instance == instance &&
         std::all_of(all.begin() + 1, all.end(), reads);
}

/// Whether the line copies to SBUF at least twice.
bool has_loads(const StraightLine& line) {
  int loads = 0;
  for (const StraightInstruction& instance : line.instructions) {
    if (instance.instruction.type != &kDmaCopy) continue;
    if (line.operands_of(instance)[0].memory == MemoryKind::kSbuf && ++loads == 2) return true;
  }
  return false;
}

/// What the load fills its tile with.
ContentsKey contents_of(const StraightLine& line, const StraightInstruction& load) {
  ContentsKey key;
  key.reserve(32);  // of most loads
  for (const StraightOperand& operand : line.operands_of(load).first(2)) {
    append(key, line, operand);
  }
  for (const Attribute& attribute : line.attributes_of(load)) key.push_back(attribute.bits);
  return key;
}

}  // namespace

void reuse_loads(StraightLine& line, int64_t room, bool loads_in_time) {
  if (!has_loads(line)) return;
  const TileUses uses(line);
  std::unordered_map<ContentsKey, size_t, ContentsHash> numbers;
  std::vector<FilledTile> loads;
  for (const uint32_t index : input_loads(line)) {
    const StraightInstruction& load = line.instructions[index];
    const TileId tile = line.operands_of(load)[DmaCopy::kDst].tile;
    if (!fills_alone(line, uses, tile, index)) continue;
    const auto number = numbers.try_emplace(contents_of(line, load), numbers.size()).first;
    loads.push_back({index, tile, number->second});
  }
  keep_tiles(line, uses, loads, room, loads_in_time);
}

}  // namespace neuron_sim
