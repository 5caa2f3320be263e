#include "device/compiler/batching/stack_instances.h"

#include <algorithm>

#include "device/analysis/access_runs.h"

namespace neuron_sim {
namespace {

bool fit_together(const StraightOperand& a, const StraightOperand& b, const Operand& pattern) {
  return a.memory == b.memory && a.direction == b.direction && a.pattern == b.pattern &&
         a.start_partition == b.start_partition && !pattern.indirect;
}

/// One operand for those of all members; empty when they cannot be combined.
class OperandStack {
 public:
  OperandStack(StraightLine& line, std::span<const uint32_t> members, size_t index)
      : line_(line), index_(index), first_(operand_of(members.front())) {
    const Operand& pattern = line.pattern_of(first_);
    tiles_.reserve(members.size());
    offsets_.reserve(members.size());
    for (const uint32_t member : members) {
      const StraightOperand& operand = operand_of(member);
      alike_ = alike_ && fit_together(first_, operand, pattern);
      tiles_.push_back(operand.tile);
      offsets_.push_back(operand.offset);
    }
  }

  bool alike() const { return alike_; }
  bool is_one() const {
    return std::count(tiles_.begin(), tiles_.end(), tiles_[0]) == std::ssize(tiles_) &&
           std::count(offsets_.begin(), offsets_.end(), offsets_[0]) == std::ssize(offsets_);
  }
  const StraightOperand& first() const { return first_; }

  std::optional<StraightOperand> stacked(bool psum, TileMerges& merges) {
    Operand result = line_.whole(first_);
    if (result.rank >= kMaximumFreeDimensions) return {};
    if (std::count(tiles_.begin(), tiles_.end(), tiles_[0]) != std::ssize(tiles_)) {
      if (!merge_tiles(psum, merges, result)) return {};
    }
    const int64_t stride = offsets_[1] - offsets_[0];
    for (size_t i = 1; i < offsets_.size(); ++i) {
      if (offsets_[i] - offsets_[i - 1] != stride) return {};
    }
    result.offset = offsets_[0];
    std::copy_backward(result.free.begin(), result.free.begin() + result.rank,
                       result.free.begin() + result.rank + 1);
    result.free[0] = {std::ssize(offsets_), stride};
    ++result.rank;
    if (result.writes() && !is_injective_at(result)) return {};
    renew_region(line_, result);
    return line_.straight(result);
  }

 private:
  const StraightOperand& operand_of(uint32_t member) const {
    return line_.operands[line_.instructions[member].instruction.first_operand + index_];
  }

  /// Makes the offsets relative to the merged tile.
  bool merge_tiles(bool psum, TileMerges& merges, Operand& result) {
    if (first_.memory == MemoryKind::kHbm) return false;
    const std::vector<TilePlace> places = merges.places(line_, tiles_, psum);
    if (places.empty()) return false;
    result.tile = places.front().tile;
    for (size_t i = 0; i < offsets_.size(); ++i) {
      offsets_[i] += line_.tile_of(result).address + places[i].bytes -
                     line_.tiles[static_cast<size_t>(tiles_[i])].address;
    }
    return true;
  }

  static bool is_injective_at(const Operand& operand) {
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

  StraightLine& line_;
  size_t index_;
  StraightOperand first_;
  bool alike_ = true;
  std::vector<TileId> tiles_;
  std::vector<int64_t> offsets_;
};

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

std::optional<StraightInstruction> stack(StraightLine& line, std::span<const uint32_t> members,
                                         bool psum, TileMerges& merges, InstanceChecks& checks) {
  StraightInstruction result = line.instructions[members.front()];
  const InstructionType& type = *result.instruction.type;
  if (!type.is_stackable || members.size() < 2) return {};
  for (const uint32_t member : members) {
    const StraightInstruction& other = line.instructions[member];
    if (other.instruction.operand_count != result.instruction.operand_count ||
        !same_command(line, result, other)) {
      return {};
    }
  }
  std::vector<StraightOperand> operands;
  operands.reserve(result.instruction.operand_count);
  int32_t partitions = -1;
  for (size_t i = 0; i < result.instruction.operand_count; ++i) {
    OperandStack stacked(line, members, i);
    if (!stacked.alike()) return {};
    const StraightOperand& first = stacked.first();
    const int32_t its_partitions = line.pattern_of(first).partitions;
    operands.push_back(first);
    if (!first.present()) continue;
    if (type.operands[i].per_partition) {
      if (!stacked.is_one()) return {};
      continue;
    }
    if (type.operands[i].optional) return {};  // it ties the elements of the others together
    // Sides of a transfer may have their rows spread differently: then no side has a member.
    if (partitions >= 0 && its_partitions != partitions) return {};
    partitions = its_partitions;
    const std::optional<StraightOperand> operand = stacked.stacked(psum, merges);
    if (!operand) return {};
    operands.back() = *operand;
  }
  result.instruction.first_operand = static_cast<uint32_t>(line.operands.size());
  line.operands.insert(line.operands.end(), operands.begin(), operands.end());
  if (!checks.renew_demand(line, result)) return {};
  return result;
}

}  // namespace neuron_sim
