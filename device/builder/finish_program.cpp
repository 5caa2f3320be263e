#include "device/builder/finish_program.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "device/analysis/race_check.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

void note_period(Program& program, const Operand& operand, const std::vector<uint32_t>& loops) {
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    const Term& term = program.terms[operand.first_term + i];
    if (term.ring_step == 0) continue;
    Loop& loop = program.loops[loops[static_cast<size_t>(term.level)]];
    const int64_t turns = operand.ring / std::gcd<int64_t>(operand.ring, term.ring_step);
    loop.period = std::lcm(loop.period, turns);
  }
}

/// Notes the operands of a block, with the loops around it, outermost first.
void note_block(Program& program, const Block& block, std::vector<uint32_t>& loops,
                OperandUsage& usage) {
  std::vector<Repetition> repetitions(loops.size());
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      loops.push_back(node.index);
      note_block(program, program.loops[node.index].body, loops, usage);
      loops.pop_back();
      continue;
    }
    const Instruction& instruction = program.instructions[node.index];
    for (const Operand& operand : program.operands_of(instruction)) {
      if (!operand.present()) continue;
      note_period(program, operand, loops);
      for (size_t i = 0; i < loops.size(); ++i) {
        const Loop& loop = program.loops[loops[i]];
        repetitions[i] = {0, loop.bound};
        for (uint8_t t = 0; t < operand.term_count; ++t) {
          const Term& term = program.terms[operand.first_term + t];
          if (term.level == loop.level) repetitions[i].stride = term.offset_step;
        }
      }
      usage.note(program.tiles, instruction, program.demands[instruction.demand], operand,
                 repetitions);
    }
  }
}

void group_hbm(Program& program, const OperandUsage& usage) {
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    Tile& tile = program.tiles[i];
    if (tile.memory != MemoryKind::kHbm) continue;
    const TensorAccesses& accesses = usage.tensors[i];
    const bool written = !accesses.writes.empty();
    if (tile.argument >= 0) {
      program.arguments[static_cast<size_t>(tile.argument)].read = accesses.is_read;
      program.arguments[static_cast<size_t>(tile.argument)].written = written;
    }
    require(!(written && tile.constant >= 0), "a constant is never written");
    if (accesses.need_order()) tile.hazard_group = program.hazard_groups++;
  }
}

void group_on_chip(Program& program) {
  PlaceGroups places;
  for (const Tile& tile : program.tiles) {
    if (tile.memory != MemoryKind::kHbm) places.add(tile, tile.address);
  }
  program.hazard_groups = places.number(program.hazard_groups);
  for (Tile& tile : program.tiles) {
    if (tile.memory != MemoryKind::kHbm) tile.hazard_group = places.group_of(tile, tile.address);
  }
}

void choose_widened(Program& program, const OperandUsage& usage) {
  struct Group {
    bool needed = false, uniform = true;
    Dtype dtype{};
    int tiles = 0;
  };
  std::vector<Group> groups(static_cast<size_t>(program.hazard_groups));
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const Tile& tile = program.tiles[i];
    if (tile.memory != MemoryKind::kSbuf) continue;
    Group& group = groups[static_cast<size_t>(tile.hazard_group)];
    if (group.tiles++ == 0) group.dtype = tile.dtype;
    // Bytes written under another dtype have no fp32 copy; nc_matmul then widens by itself.
    if (tile.dtype != group.dtype || usage.other_dtype[i]) group.uniform = false;
    if (usage.matmul_operand[i] && is_low_precision(tile.dtype)) group.needed = true;
  }
  for (Tile& tile : program.tiles) {
    if (tile.memory != MemoryKind::kSbuf) continue;
    const Group& group = groups[static_cast<size_t>(tile.hazard_group)];
    tile.widened = group.needed && group.uniform;
  }
}

}  // namespace

void OperandUsage::note(std::span<const Tile> tiles, const Instruction& instruction,
                        const Demand& demand, const Operand& operand,
                        std::span<const Repetition> loops) {
  const auto first = static_cast<size_t>(operand.tile);
  if (instruction.type->synchronises == Synchronisation::kBarrier) {
    tensors[first].meets = true;  // moves no bytes
    return;
  }
  const bool multiplies = demand.multiply_accumulates > 0 && operand.direction == Direction::kRead;
  for (size_t tile = first; tile < first + static_cast<size_t>(operand.ring); ++tile) {
    if (operand.dtype != tiles[tile].dtype) other_dtype[tile] = true;
    if (multiplies) matmul_operand[tile] = true;
  }
  if (operand.memory != MemoryKind::kHbm) return;
  TensorAccesses& accesses = tensors[first];
  accesses.is_read = accesses.is_read || operand.reads();
  if (operand.writes() && !accesses.is_rewritten) accesses.add_write(operand, loops);
}

void finish_program(Program& program) {
  OperandUsage usage(program.tiles.size());
  std::vector<uint32_t> loops;
  for (const Block& block : program.cores) note_block(program, block, loops, usage);
  finish_program(program, usage);
}

void finish_program(Program& program, const OperandUsage& usage) {
  std::sort(program.edges.begin(), program.edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.consumer, a.producer) < std::tie(b.consumer, b.producer);
  });
  program.edges.erase(std::unique(program.edges.begin(), program.edges.end()), program.edges.end());
  program.hazard_groups = 0;
  group_hbm(program, usage);
  group_on_chip(program);
  choose_widened(program, usage);
  check_races(program);
}

}  // namespace neuron_sim
