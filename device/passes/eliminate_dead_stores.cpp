#include "device/passes/eliminate_dead_stores.h"

#include <algorithm>

#include "device/isa/memset.h"
#include "device/passes/tile_uses.h"

namespace neuron_sim {
namespace {

/// Bytes of all partitions, for regions that are known exactly.
int64_t size_of(const Region& region) { return region.partitions * region.count * region.run; }

/// Whether the uses `later` overwrite all of `stored` before one of them reads what is left of it.
bool is_dead(const StraightLine& line, std::span<const TileUse> later, const Region& stored) {
  std::vector<Region> parts;
  int64_t missing = size_of(stored);
  for (const TileUse& use : later) {
    const Operand& operand = operand_at(line, use);
    if (!overlap(operand.region, stored)) continue;
    const bool again = std::any_of(parts.begin(), parts.end(), [&](const Region& part) {
      return covers(part, operand.region);
    });
    if (again) continue;
    const bool fresh = operand.direction == Direction::kWrite && operand.region.exact &&
                       covers(stored, operand.region) &&
                       std::none_of(parts.begin(), parts.end(), [&](const Region& part) {
                         return overlap(part, operand.region);
                       });
    if (!fresh || parts.size() == kMostParts) return false;
    parts.push_back(operand.region);
    missing -= size_of(operand.region);
    if (missing == 0) return true;
  }
  return later.empty();
}

}  // namespace

void eliminate_dead_stores(StraightLine& line) {
  const TileUses uses(line);
  std::vector<bool> removed(line.instructions.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (line.instructions[i].instruction.type != &kMemset) continue;
    const Operand& dst = line.operands_of(line.instructions[i])[0];
    if (dst.memory == MemoryKind::kHbm || line.tile_of(dst).placed || !dst.region.exact) continue;
    const std::span<const TileUse> all = uses.of(dst.tile);
    const auto later =
        std::find_if(all.begin(), all.end(), [&](const TileUse& use) { return use.instance > i; });
    removed[i] = is_dead(line, all.subspan(static_cast<size_t>(later - all.begin())), dst.region);
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
