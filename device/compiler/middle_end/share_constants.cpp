#include "device/compiler/middle_end/share_constants.h"

#include <algorithm>

#include "device/compiler/batching/stack_instances.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

const StraightOperand& result(const StraightLine& line, uint32_t instance) {
  return line.operands_of(line.instructions[instance])[0];
}

/// A memset of a tile in SBUF before all reads of it, and its only write.
bool makes_constant(const StraightLine& line, const TileUses& uses, uint32_t index) {
  if (line.instructions[index].instruction.type != &kMemset) return false;
  const StraightOperand& dst = result(line, index);
  if (dst.memory != MemoryKind::kSbuf || line.tile_of(dst).placed) return false;
  const std::span<const TileUse> all = uses.of(dst.tile);
  return all.front().instance == index &&
         std::all_of(all.begin() + 1, all.end(), [&](const TileUse& use) {
           return operand_at(line, use).direction == Direction::kRead;
         });
}

/// Whether two instances write the same value to the same elements of tiles of one layout.
bool makes_the_same(const StraightLine& line, uint32_t before, uint32_t index) {
  const StraightOperand &x = result(line, before), &y = result(line, index);
  const Tile &s = line.tile_of(x), &t = line.tile_of(y);
  return same_command(line, line.instructions[before], line.instructions[index]) &&
         x.pattern == y.pattern && x.start_partition == y.start_partition &&
         x.offset - s.address == y.offset - t.address && s.bytes == t.bytes &&
         s.partitions == t.partitions && s.dtype == t.dtype;
}

}  // namespace

void share_constants(StraightLine& line) {
  const TileUses uses(line);
  std::vector<uint32_t> constants;  // instances that make distinct ones
  std::vector<bool> removed(line.instructions.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!makes_constant(line, uses, i)) continue;
    const auto same = std::find_if(constants.begin(), constants.end(), [&](uint32_t before) {
      return makes_the_same(line, before, i);
    });
    if (same == constants.end()) {
      constants.push_back(i);
      continue;
    }
    removed[i] = true;
    const TileId shared = result(line, *same).tile;
    for (const TileUse& use : uses.of(result(line, i).tile).subspan(1)) {
      move_to_tile(line, operand_at(line, use), shared);
    }
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
