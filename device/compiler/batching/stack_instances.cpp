#include "device/compiler/batching/stack_instances.h"

#include <algorithm>

namespace neuron_sim {
namespace {

bool is_injective_at(const Operand& operand) {
  std::vector<Repetition> repetitions;
  repetitions.reserve(kMaximumRank);
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    repetitions.push_back({operand.free[i].stride, operand.free[i].size});
  }
  if (operand.memory == MemoryKind::kHbm) {
    repetitions.push_back({operand.partition_stride, operand.partitions});
  }
  return is_injective(itemsize(operand.dtype), std::move(repetitions));
}

}  // namespace

bool same_command(const StraightLine& line, const StraightInstruction& a,
                  const StraightInstruction& b) {
  if (a.instruction.type != b.instruction.type || a.instruction.engine != b.instruction.engine) {
    return false;
  }
  const auto x = line.attributes_of(a), y = line.attributes_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Attribute& p, const Attribute& q) { return p.bits == q.bits; });
}

bool InstanceStack::are_alike(Members members, size_t index) const {
  const StraightOperand& first = operand_of(members.front(), index);
  if (line_.pattern_of(first).indirect) return false;
  return std::all_of(members.begin(), members.end(), [&](uint32_t member) {
    const StraightOperand& operand = operand_of(member, index);
    return operand.memory == first.memory && operand.direction == first.direction &&
           operand.pattern == first.pattern && operand.start_partition == first.start_partition;
  });
}

bool InstanceStack::are_one(Members members, size_t index) const {
  const StraightOperand& first = operand_of(members.front(), index);
  return std::all_of(members.begin(), members.end(), [&](uint32_t member) {
    const StraightOperand& operand = operand_of(member, index);
    return operand.tile == first.tile && operand.offset == first.offset;
  });
}

/// One operand for those of all members; empty when they cannot be combined.
std::optional<StraightOperand> InstanceStack::stacked(Members members, size_t index) {
  StraightOperand result = operand_of(members.front(), index);
  if (line_.pattern_of(result).rank >= kMaximumFreeDimensions) return {};
  offsets_.clear();
  bool in_one_tile = true;
  for (const uint32_t member : members) {
    const StraightOperand& operand = operand_of(member, index);
    in_one_tile = in_one_tile && operand.tile == result.tile;
    offsets_.push_back(operand.offset);
  }
  if (!in_one_tile && !merge_tiles(members, index, result)) return {};
  const int64_t stride = offsets_[1] - offsets_[0];
  for (size_t i = 1; i < offsets_.size(); ++i) {
    if (offsets_[i] - offsets_[i - 1] != stride) return {};
  }
  const Stacking stacking{result.pattern, result.memory == MemoryKind::kHbm, result.writes(),
                          std::ssize(offsets_), stride};
  const auto [known, is_new] = patterns_.try_emplace(stacking);
  if (is_new) known->second = pattern_of(stacking, result);
  if (!known->second) return {};
  result.pattern = *known->second;
  result.offset = offsets_[0];
  return result;
}

/// Makes the offsets relative to the merged tile.
bool InstanceStack::merge_tiles(Members members, size_t index, StraightOperand& result) {
  if (result.memory == MemoryKind::kHbm) return false;
  std::vector<TileId> tiles(members.size());
  std::transform(members.begin(), members.end(), tiles.begin(),
                 [&](uint32_t member) { return operand_of(member, index).tile; });
  const std::vector<TilePlace> places = merges_.places(line_, tiles, psum_);
  if (places.empty()) return false;
  result.tile = places.front().tile;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    offsets_[i] += line_.tile_of(result).address + places[i].bytes -
                   line_.tiles[static_cast<size_t>(tiles[i])].address;
  }
  return true;
}

/// Empty for results that share bytes.
std::optional<uint32_t> InstanceStack::pattern_of(const Stacking& stacking,
                                                  const StraightOperand& first) {
  Operand result = line_.whole(first);
  std::copy_backward(result.free.begin(), result.free.begin() + result.rank,
                     result.free.begin() + result.rank + 1);
  result.free[0] = {stacking.count, stacking.stride};
  ++result.rank;
  if (stacking.writes && !is_injective_at(result)) return {};
  renew_region(line_, result);
  return line_.straight(result).pattern;
}

std::optional<StraightInstruction> InstanceStack::stacked(Members members) {
  StraightInstruction result = line_.instructions[members.front()];
  const InstructionType& type = *result.instruction.type;
  if (!type.is_stackable || members.size() < 2) return {};
  for (const uint32_t member : members) {
    const StraightInstruction& other = line_.instructions[member];
    if (other.instruction.operand_count != result.instruction.operand_count ||
        !same_command(line_, result, other)) {
      return {};
    }
  }
  std::vector<StraightOperand> operands;
  operands.reserve(result.instruction.operand_count);
  int32_t partitions = -1;
  for (size_t i = 0; i < result.instruction.operand_count; ++i) {
    if (!are_alike(members, i)) return {};
    const StraightOperand& first = operands.emplace_back(operand_of(members.front(), i));
    if (!first.present()) continue;
    if (type.operands[i].per_partition) {
      if (!are_one(members, i)) return {};
      continue;
    }
    if (type.operands[i].optional) return {};  // it ties the elements of the others together
    // Sides of a transfer may have their rows spread differently: then no side has a member.
    const int32_t its_partitions = line_.pattern_of(first).partitions;
    if (partitions >= 0 && its_partitions != partitions) return {};
    partitions = its_partitions;
    const std::optional<StraightOperand> operand = stacked(members, i);
    if (!operand) return {};
    operands.back() = *operand;
  }
  result.instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
  line_.operands.insert(line_.operands.end(), operands.begin(), operands.end());
  if (!checks_.renew_demand(line_, result)) return {};
  return result;
}

}  // namespace neuron_sim
