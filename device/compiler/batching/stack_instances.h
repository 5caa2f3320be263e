#pragma once
// One instruction in place of several instances of one statement.

#include <compare>
#include <map>
#include <optional>

#include "device/compiler/line/instance_checks.h"
#include "device/compiler/tiles/tile_merges.h"

namespace neuron_sim {

/// Whether two instances are the same instruction with the same attributes on the same engine.
bool same_command(const StraightLine& line, const StraightInstruction& a,
                  const StraightInstruction& b);

/// Stacks instances of one line. What it finds out about a pattern or an instance counts for all
/// that are alike.
class InstanceStack {
 public:
  /// `psum`: tiles in PSUM are merged too, within a bank.
  InstanceStack(StraightLine& line, bool psum, TileMerges& merges)
      : line_(line), psum_(psum), merges_(merges) {}

  /// The instances `members` (in order, of one statement) as one instruction whose operands have
  /// one more free dimension, outermost: the member. Their operands must be alike and be evenly
  /// spaced in one tile, or in different tiles, which are then merged; a [P, 1] operand of another
  /// element's width must be the same for all. Empty when the instruction's own check rejects it or
  /// the members cannot be combined. Keeps the statement and loops of the first member; `merges` is
  /// left with pending merges.
  std::optional<StraightInstruction> stacked(std::span<const uint32_t> members);

 private:
  using Members = std::span<const uint32_t>;
  /// What one more dimension makes of a pattern.
  struct Stacking {
    uint32_t pattern = 0;
    bool in_hbm = false, writes = false;
    int64_t count = 0, stride = 0;
    auto operator<=>(const Stacking&) const = default;
  };

  const StraightOperand& operand_of(uint32_t member, size_t index) const {
    return line_.operands[line_.instructions[member].instruction.first_operand + index];
  }
  bool are_alike(Members members, size_t index) const;
  bool are_one(Members members, size_t index) const;
  std::optional<StraightOperand> stacked(Members members, size_t index);
  bool merge_tiles(Members members, size_t index, StraightOperand& result);
  std::optional<uint32_t> pattern_of(const Stacking& stacking, const StraightOperand& first);

  StraightLine& line_;
  bool psum_;
  TileMerges& merges_;
  InstanceChecks checks_;
  std::map<Stacking, std::optional<uint32_t>> patterns_;
  std::vector<int64_t> offsets_;  ///< of the members of one operand
};

}  // namespace neuron_sim
