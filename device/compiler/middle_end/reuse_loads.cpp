#include "device/compiler/middle_end/reuse_loads.h"

#include <algorithm>

#include "device/compiler/line/kept_tiles.h"
#include "device/compiler/line/meetings.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Whether the line writes the tile; a meeting on it moves no bytes.
bool is_written(const StraightLine& line, const TileUses& uses, TileId tile) {
  const std::span<const TileUse> all = uses.of(tile);
  return std::any_of(all.begin(), all.end(), [&](const TileUse& use) {
    return operand_at(line, use).writes() && !is_meeting(line.instructions[use.instance]);
  });
}

/// Whether the instance loads, from a tensor that is not `written` and bytes that the other core
/// does not write, into a tile that nothing else writes.
bool is_load(const StraightLine& line, const TileUses& uses, const std::vector<bool>& written,
             uint32_t index) {
  const StraightInstruction& instance = line.instructions[index];
  if (instance.instruction.type != &kDmaCopy) return false;
  const auto operands = line.operands_of(instance);
  const Operand& dst = operands[0];
  const Operand& src = operands[1];
  return src.memory == MemoryKind::kHbm && dst.memory == MemoryKind::kSbuf && !dst.reads() &&
         !has_operand(operands, 2) && !written[static_cast<size_t>(src.tile)] &&
         !conflicts_with_peer(line, src) && fills_alone(line, uses, dst.tile, index);
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

FilledTile load_of(const StraightLine& line, uint32_t index) {
  const StraightInstruction& instance = line.instructions[index];
  const auto operands = line.operands_of(instance);
  FilledTile load{.instance = index, .tile = operands[0].tile};
  append(load.key, operands[0], line.tile_of(operands[0]));
  append(load.key, operands[1], line.tile_of(operands[1]));
  for (const Attribute& attribute : line.attributes_of(instance)) {
    load.key.push_back(attribute.bits);
  }
  return load;
}

}  // namespace

void reuse_loads(StraightLine& line, int64_t room) {
  if (!has_loads(line)) return;
  const TileUses uses(line);
  std::vector<bool> written;
  for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
    written.push_back(is_written(line, uses, static_cast<TileId>(tile)));
  }
  std::vector<FilledTile> loads;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (is_load(line, uses, written, i)) loads.push_back(load_of(line, i));
  }
  keep_tiles(line, uses, loads, room);
}

}  // namespace neuron_sim
