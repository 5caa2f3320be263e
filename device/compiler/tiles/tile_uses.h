#pragma once
// The instances that touch each tile, in program order.

#include <span>
#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// One operand of one instance.
struct TileUse {
  uint32_t instance = 0;
  uint32_t operand = 0;  ///< of the instruction
};

/// Uses of all tiles at the time of construction.
class TileUses {
 public:
  enum Which : uint8_t { kAll, kWrites };
  explicit TileUses(const StraightLine& line, Which which = kAll);
  std::span<const TileUse> of(TileId tile) const {
    const auto index = static_cast<size_t>(tile);
    return {uses_.data() + first_[index], uses_.data() + first_[index + 1]};
  }

 private:
  std::vector<size_t> first_;
  std::vector<TileUse> uses_;
};

/// The operand of a use.
inline StraightOperand& operand_at(StraightLine& line, const TileUse& use) {
  return line.operands_of(line.instructions[use.instance])[use.operand];
}
inline const StraightOperand& operand_at(const StraightLine& line, const TileUse& use) {
  return line.operands_of(line.instructions[use.instance])[use.operand];
}

/// Bytes of all partitions, for regions that are known exactly.
inline int64_t size_of(const Region& region) {
  return static_cast<int64_t>(region.partitions) * region.count * region.run;
}

/// Removes the instances that are marked.
void remove_instances(StraightLine& line, const std::vector<bool>& removed);

}  // namespace neuron_sim
