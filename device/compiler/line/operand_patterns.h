#pragma once
// Operands of a straight line: what many instances share once, and the little that they do not.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// One operand of an instance. Passes sweep over all of them several times, and a whole Operand is
/// eight times as large.
struct StraightOperand {
  TileId tile = kNoTile;
  uint32_t pattern = 0;  ///< index into the OperandPatterns; equal for operands of equal patterns
  int64_t offset = 0;    ///< as in Operand; on chip it includes the tile's
  int32_t start_partition = 0;
  MemoryKind memory = MemoryKind::kNone;
  Direction direction = Direction::kRead;

  bool present() const { return memory != MemoryKind::kNone; }
  bool reads() const { return direction != Direction::kWrite; }
  bool writes() const { return direction != Direction::kRead; }
};

inline bool has_operand(std::span<const StraightOperand> operands, size_t index) {
  return index < operands.size() && operands[index].present();
}

/// The patterns of operands, each once: all of an Operand but what a StraightOperand has, with ring
/// 1 and no terms.
class OperandPatterns {
 public:
  OperandPatterns() { number(Operand{}); }  // that of operands that are not present

  /// The operand without its pattern, which is added when it is new.
  StraightOperand straight(const Operand& operand);
  Operand whole(const StraightOperand& operand) const {
    Operand result = patterns_[operand.pattern];
    result.tile = operand.tile;
    result.memory = operand.memory;
    result.direction = operand.direction;
    result.start_partition = operand.start_partition;
    result.offset = operand.offset;
    result.region = region_of(operand);
    return result;
  }
  Region region_of(const StraightOperand& operand) const {
    Region region = patterns_[operand.pattern].region;
    region.low += operand.offset;
    region.partition += operand.start_partition;
    return region;
  }
  /// The pattern as an operand at offset 0 and partition 0.
  const Operand& operator[](uint32_t pattern) const { return patterns_[pattern]; }

 private:
  uint32_t number(Operand pattern);

  std::vector<Operand> patterns_;
  std::unordered_multimap<uint64_t, uint32_t> numbers_;  ///< by hash
};

/// The whole operands of an instance, as long as this lives: element access to a temporary copies.
class WholeOperands {
 public:
  WholeOperands(const OperandPatterns& patterns, std::span<const StraightOperand> operands)
      : size_(operands.size()) {
    for (size_t i = 0; i < size_; ++i) {
      new (storage_.data() + i * sizeof(Operand)) Operand(patterns.whole(operands[i]));
    }
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Operand* data() const {
    return std::launder(reinterpret_cast<const Operand*>(storage_.data()));
  }
  const Operand* begin() const { return data(); }
  const Operand* end() const { return data() + size_; }
  const Operand& operator[](size_t index) const& { return data()[index]; }
  Operand operator[](size_t index) const&& { return data()[index]; }

 private:
  size_t size_;
  alignas(Operand) std::array<std::byte, kMaximumOperands * sizeof(Operand)> storage_;
};

}  // namespace neuron_sim
