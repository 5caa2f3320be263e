#include "device/compiler/middle_end/eliminate_dead_stores.h"

#include <algorithm>

#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/memset.h"

namespace neuron_sim {
namespace {

/// The part of a store that later uses have not overwritten.
class Remainder {
 public:
  explicit Remainder(const Region& stored) : stored_(stored), missing_(size_of(stored)) {}

  bool empty() const { return missing_ == 0; }
  /// Whether the region has bytes of the store that nothing has overwritten yet.
  bool meets(const Region& region) const {
    return overlap(region, stored_) &&
           std::none_of(parts_.begin(), parts_.end(),
                        [&](const Region& part) { return covers(part, region); });
  }
  /// Subtracts the bytes of a write; false when that is not exactly possible.
  bool overwrite(const Region& write) {
    const bool fresh = write.exact && covers(stored_, write) &&
                       std::none_of(parts_.begin(), parts_.end(),
                                    [&](const Region& part) { return overlap(part, write); });
    if (!fresh || parts_.size() == kMostParts) return false;
    parts_.push_back(write);
    missing_ -= size_of(write);
    return true;
  }

 private:
  const Region& stored_;
  std::vector<Region> parts_;
  int64_t missing_;
};

/// Whether the uses `later` overwrite all of `stored` before one of them reads what is left of it.
/// An instance reads all its sources before it writes.
bool is_dead(const StraightLine& line, std::span<const TileUse> later, const Region& stored) {
  Remainder left(stored);
  for (size_t first = 0; first < later.size();) {
    size_t end = first;
    while (end < later.size() && later[end].instance == later[first].instance) ++end;
    const std::span<const TileUse> instance = later.subspan(first, end - first);
    first = end;
    for (const TileUse& use : instance) {
      const StraightOperand& operand = operand_at(line, use);
      if (operand.reads() && left.meets(line.region_of(operand))) return false;
    }
    for (const TileUse& use : instance) {
      const StraightOperand& operand = operand_at(line, use);
      const Region region = line.region_of(operand);
      if (!operand.writes() || !left.meets(region)) continue;
      if (operand.reads() || !left.overwrite(region)) return false;
    }
    if (left.empty()) return true;
  }
  return later.empty();
}

}  // namespace

void eliminate_dead_stores(StraightLine& line) {
  const TileUses uses(line);
  std::vector<bool> removed(line.instructions.size());
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (line.instructions[i].instruction.type != &kMemset) continue;
    const StraightOperand& dst = line.operands_of(line.instructions[i])[0];
    const Region stored = line.region_of(dst);
    if (dst.memory == MemoryKind::kHbm || line.tile_of(dst).placed || !stored.exact) continue;
    const std::span<const TileUse> all = uses.of(dst.tile);
    const auto later =
        std::find_if(all.begin(), all.end(), [&](const TileUse& use) { return use.instance > i; });
    removed[i] = is_dead(line, all.subspan(static_cast<size_t>(later - all.begin())), stored);
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
