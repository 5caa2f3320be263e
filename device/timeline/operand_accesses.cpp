#include "device/timeline/operand_accesses.h"

namespace neuron_sim {
namespace {

// Plans take memory: instructions of loops beyond so many operands are resolved one by one.
constexpr size_t kMaximumPlanned = 1 << 14;

}  // namespace

OperandAccesses::OperandAccesses(const Program& program, size_t core,
                                 std::vector<PendingAccesses>& pending)
    : program_(program) {
  pending_of_tile_.reserve(program.tiles.size());
  for (const Tile& tile : program.tiles) {
    const auto group = static_cast<size_t>(tile.hazard_group);
    pending_of_tile_.push_back(tile.hazard_group < 0 ? nullptr : &pending[group]);
  }
  if (program.loops.empty()) return;
  planned_.resize(program.instructions.size());
  loops_.resize(program.loops.size());
  plan(program.cores[core]);
}

/// Plans the instructions of the loops of a block and, in a loop, of the block itself.
void OperandAccesses::plan(const Block& block) {
  static constexpr std::array<int64_t, kMaximumLoopDepth> kStart{};
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      open_loops_.push_back(node.index);
      plan(program_.loops[node.index].body);
      open_loops_.pop_back();
      continue;
    }
    if (open_loops_.empty() || turns_.size() > kMaximumPlanned) continue;
    const auto first = static_cast<uint32_t>(accesses_.size());
    const auto operands = program_.operands_of(program_.instructions[node.index]);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      plan_motions(operands[i]);
      add(operands[i], static_cast<uint8_t>(i), kStart.data());
    }
    planned_[node.index] = {first, static_cast<uint32_t>(accesses_.size()) - first};
  }
}

/// How the next access, of that operand, moves with the open loops.
void OperandAccesses::plan_motions(const Operand& operand) {
  const auto access = static_cast<uint32_t>(accesses_.size());
  int64_t start = operand.ring_start % operand.ring;
  if (start < 0) start += operand.ring;
  turns_.push_back({operand.tile, operand.ring, static_cast<int32_t>(start), operand.ring_stride});
  const std::span terms(program_.terms.data() + operand.first_term, operand.term_count);
  for (const uint32_t loop : open_loops_) {
    for (const Term& term : terms) {
      if (term.level != program_.loops[loop].level) continue;
      loops_[loop].motions.push_back(
          {access, term.partition_step, term.ring_step, term.offset_step});
    }
  }
}

/// Adds the access of an operand that is present.
void OperandAccesses::add(const Operand& operand, uint8_t number, const int64_t* variables) {
  static constexpr std::array<int64_t, 64> kNoRegisters{};
  OperandAccess access;
  access.location = locate(program_, operand, variables, kNoRegisters.data());
  access.pending = pending_of_tile_[static_cast<size_t>(access.location.tile)];
  access.operand = number;
  access.reads = operand.reads();
  access.writes = operand.writes();
  access.region = region_at(operand, access.location);
  accesses_.push_back(access);
}

std::span<const OperandAccess> OperandAccesses::resolve(uint32_t instruction,
                                                        const int64_t* variables) {
  accesses_.resize(turns_.size());
  const auto operands = program_.operands_of(program_.instructions[instruction]);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].present()) add(operands[i], static_cast<uint8_t>(i), variables);
  }
  return std::span<const OperandAccess>(accesses_).subspan(turns_.size());
}

void OperandAccesses::move(LoopMotion& loop, int64_t by) {
  loop.iteration += by;
  for (const Motion& motion : loop.motions) {
    OperandAccess& access = accesses_[motion.access];
    const int64_t bytes = motion.bytes * by;
    const auto partitions = static_cast<int32_t>(motion.partitions * by);
    access.location.offset += bytes;
    access.location.partition += partitions;
    access.region.low += bytes;
    access.region.partition += partitions;
    if (motion.turns != 0) turn(access, turns_[motion.access], motion.turns * by);
  }
}

void OperandAccesses::turn(OperandAccess& access, Turn& turn, int64_t by) {
  int64_t next = turn.turn + by;
  if (next >= turn.ring && next < int64_t{2} * turn.ring) next -= turn.ring;
  if (next < 0 || next >= turn.ring) {
    next %= turn.ring;
    if (next < 0) next += turn.ring;
  }
  const int64_t bytes = (next - turn.turn) * turn.bytes;
  turn.turn = static_cast<int32_t>(next);
  access.location.tile = turn.first + turn.turn;
  access.location.offset += bytes;
  access.region.low += bytes;
  access.pending = pending_of_tile_[static_cast<size_t>(access.location.tile)];
}

}  // namespace neuron_sim
