#include "device/builder/finish_program.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "device/analysis/race_check.h"
#include "device/base/errors.h"
#include "device/builder/hazard_groups.h"

namespace neuron_sim {
namespace {

/// Visits every operand with the loops around it (outermost first).
class OperandWalk {
 public:
  using Visit = void (*)(Program&, const Instruction&, const Operand&,
                         const std::vector<uint32_t>& loops, void* context);
  OperandWalk(Program& program, Visit visit, void* context)
      : program_(program), visit_(visit), context_(context) {}
  void run() {
    for (const Block& block : program_.cores) walk(block);
  }

 private:
  void walk(const Block& block) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kLoop) {
        loops_.push_back(node.index);
        walk(program_.loops[node.index].body);
        loops_.pop_back();
        continue;
      }
      const Instruction& instruction = program_.instructions[node.index];
      for (const Operand& operand : program_.operands_of(instruction)) {
        if (operand.present()) visit_(program_, instruction, operand, loops_, context_);
      }
    }
  }
  Program& program_;
  Visit visit_;
  void* context_;
  std::vector<uint32_t> loops_;
};

void note_period(Program& program, const Operand& operand, const std::vector<uint32_t>& loops) {
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    const Term& term = program.terms[operand.first_term + i];
    if (term.ring_step == 0) continue;
    Loop& loop = program.loops[loops[static_cast<size_t>(term.level)]];
    const int64_t turns = operand.ring / std::gcd<int64_t>(operand.ring, term.ring_step);
    loop.period = std::lcm(loop.period, turns);
  }
}

/// How the tiles of a program are used, gathered in one walk.
struct Usage {
  std::vector<TensorAccesses> tensors;  ///< per tile
  std::vector<bool> matmul_operand, other_dtype;
};

void note_usage(Program& program, const Instruction& instruction, const Operand& operand,
                const std::vector<uint32_t>& loops, void* context) {
  Usage& usage = *static_cast<Usage*>(context);
  note_period(program, operand, loops);
  if (instruction.type->synchronises == Synchronisation::kBarrier) {
    usage.tensors[static_cast<size_t>(operand.tile)].meets = true;  // moves no bytes
    return;
  }
  for (int i = 0; i < operand.ring; ++i) {
    const size_t tile = static_cast<size_t>(operand.tile) + static_cast<size_t>(i);
    if (operand.dtype != program.tiles[tile].dtype) usage.other_dtype[tile] = true;
    const Demand& demand = program.demands[instruction.demand];
    if (demand.multiply_accumulates > 0 && operand.direction == Direction::kRead) {
      usage.matmul_operand[tile] = true;
    }
  }
  if (operand.memory != MemoryKind::kHbm) return;
  TensorAccesses& accesses = usage.tensors[static_cast<size_t>(operand.tile)];
  accesses.is_read = accesses.is_read || operand.reads();
  if (!operand.writes() || accesses.is_rewritten) return;
  std::vector<Repetition> repetitions;
  for (const uint32_t loop : loops) {
    int64_t step = 0;
    for (uint8_t i = 0; i < operand.term_count; ++i) {
      const Term& term = program.terms[operand.first_term + i];
      if (term.level == program.loops[loop].level) step = term.offset_step;
    }
    repetitions.push_back({step, program.loops[loop].bound});
  }
  accesses.add_write(operand, repetitions);
}

void group_hbm(Program& program, const Usage& usage) {
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

void choose_widened(Program& program, const Usage& usage) {
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

void finish_program(Program& program) {
  std::sort(program.edges.begin(), program.edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.consumer, a.producer) < std::tie(b.consumer, b.producer);
  });
  program.edges.erase(std::unique(program.edges.begin(), program.edges.end()), program.edges.end());
  Usage usage;
  usage.tensors.resize(program.tiles.size());
  usage.matmul_operand.resize(program.tiles.size());
  usage.other_dtype.resize(program.tiles.size());
  OperandWalk(program, note_usage, &usage).run();
  program.hazard_groups = 0;
  group_hbm(program, usage);
  group_on_chip(program);
  choose_widened(program, usage);
  check_races(program);
}

}  // namespace neuron_sim
