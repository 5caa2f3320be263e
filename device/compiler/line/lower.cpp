// Straight lines back to a Program.

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "device/builder/finish_program.h"
#include "device/compiler/line/instance_graph.h"
#include "device/compiler/line/meetings.h"

namespace neuron_sim {
namespace {

using Numbers = std::vector<TileId>;

/// Whether a tile is the same on all cores, and was numbered with the first one.
bool is_common(const StraightLine& line, size_t tile) {
  if (line.is_copy_of_first) return line.tiles[tile].memory == MemoryKind::kHbm;
  return tile < line.kernel_tiles && !is_on_chip(line.tiles[tile]);
}

/// Appends the tiles that a line keeps, and returns their numbers: kNoTile for those on chip that
/// nothing uses. `first`: the numbers of the first core; empty for that one. Also notes whether
/// an index tile names rows, as it reads all operands.
Numbers append_tiles(const StraightLine& line, const Numbers& first, Program& program) {
  std::vector<bool> used(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    for (const StraightOperand& operand : line.operands_of(instance)) {
      if (operand.present()) used[static_cast<size_t>(operand.tile)] = true;
      program.uses_registers = program.uses_registers || line.pattern_of(operand).indirect;
    }
  }
  Numbers numbers(line.tiles.size(), kNoTile);
  program.tiles.reserve(program.tiles.size() +
                        static_cast<size_t>(std::count(used.begin(), used.end(), true)));
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    if (line.tiles[i].memory == MemoryKind::kNone || (!used[i] && is_on_chip(line.tiles[i]))) {
      continue;
    }
    if (!first.empty() && is_common(line, i)) {
      numbers[i] = first[i];
      continue;
    }
    numbers[i] = static_cast<TileId>(program.tiles.size());
    Tile& tile = program.tiles.emplace_back(line.tiles[i]);
    tile.hazard_group = -1;
    tile.widened = false;
    if (tile.scratch < 0) continue;
    tile.scratch = static_cast<int32_t>(program.scratch.size());
    program.scratch.push_back(numbers[i]);
  }
  return numbers;
}

/// Appends an instance; its attributes and demand are numbered in the pools of its line.
void append(const StraightLine& line, const StraightInstruction& instance,
            const std::vector<TileId>& tiles, Program& program, OperandUsage& usage) {
  Instruction& instruction = program.instructions.emplace_back(instance.instruction);
  instruction.first_operand = static_cast<uint32_t>(program.operands.size());
  const bool keeps = may_keep_bytes(instance.instruction, line.attributes_of(instance));
  const Demand& demand = line.demands[instance.instruction.demand];
  const auto operands = line.operands_of(instance);
  for (size_t i = 0; i < operands.size(); ++i) {
    Operand& operand = program.operands.emplace_back(line.whole(operands[i]));
    if (keeps) operand.direction = direction_in_program(line, instance, i);
    if (!operand.present()) continue;
    operand.tile = tiles[static_cast<size_t>(operand.tile)];
    // Here, where it is in the cache: a walk would read the operands of a long program again.
    usage.note(program.tiles, instruction, demand, operand, {});
  }
  instruction.first_attribute += static_cast<uint32_t>(program.attributes.size());
  instruction.demand += static_cast<uint32_t>(program.demands.size());
}

int64_t peak(const Program& program, MemoryKind memory) {
  int64_t end = 0;
  for (const Tile& tile : program.tiles) {
    if (tile.memory == memory) end = std::max(end, tile.address + tile.bytes);
  }
  return end;
}

void add(Spills& total, const Spills& more) {
  total.saves += more.saves;
  total.save_bytes += more.save_bytes;
  total.reloads += more.reloads;
  total.reload_bytes += more.reload_bytes;
  total.repeated_loads += more.repeated_loads;
  total.repeated_bytes += more.repeated_bytes;
  total.psum_copies += more.psum_copies;
  total.psum_bytes += more.psum_bytes;
}

template <typename Element>
void move_to_end(std::vector<Element>& pool, std::vector<Element>& more) {
  if (pool.empty()) return pool.swap(more);
  pool.insert(pool.end(), more.begin(), more.end());
}

/// Asks the host for huge pages in a pool that is about to be filled: of a long program its page
/// faults would take longer than what is written there.
void prefer_huge_pages(void* pool, size_t bytes) {
  constexpr size_t kHugePage = 2 << 20;
  if (std::align(kHugePage, kHugePage, pool, bytes) == nullptr) return;
  madvise(pool, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
}

/// Makes room for the operands of all instances.
void reserve_operands(const StraightLine& line, Program& program) {
  size_t count = program.operands.size();
  for (const StraightInstruction& instance : line.instructions) {
    count += instance.instruction.operand_count;
  }
  program.operands.reserve(count);
  prefer_huge_pages(program.operands.data(), count * sizeof(Operand));
}

/// Appends the instances of a line as a core of the program; `alone`: as the only one.
void append_core(StraightLine& line, const Numbers& tiles, bool alone, Program& program,
                 OperandUsage& usage) {
  const auto first = static_cast<uint32_t>(program.instructions.size());
  program.instructions.reserve(first + line.instructions.size());
  Block& block = program.cores.emplace_back();
  block.reserve(line.instructions.size());
  for (const StraightInstruction& instance : line.instructions) {
    const bool meets = !alone && is_meeting(instance);
    block.push_back({meets ? Node::Kind::kSynchronisation : Node::Kind::kInstruction,
                     first + static_cast<uint32_t>(block.size())});
  }
  reserve_operands(line, program);
  for (const StraightInstruction& instance : line.instructions) {
    append(line, instance, tiles, program, usage);
  }
  for (const Edge& edge : program_edges(line, alone)) {
    program.edges.push_back({first + edge.consumer, first + edge.producer});
  }
  add(program.spills, line.spills);
  move_to_end(program.attributes, line.attributes);
  move_to_end(program.demands, line.demands);
}

/// lower(), which takes from the lines what it can.
std::shared_ptr<Program> program_of(std::vector<StraightLine>& lines) {
  auto program = std::make_shared<Program>();
  std::vector<Numbers> numbers(lines.size());
  for (size_t core = 0; core < lines.size(); ++core) {
    numbers[core] = append_tiles(lines[core], numbers[0], *program);
  }
  OperandUsage usage(program->tiles.size());
  for (size_t core = 0; core < lines.size(); ++core) {
    append_core(lines[core], numbers[core], lines.size() == 1, *program, usage);
  }
  StraightLine& first = lines.front();
  program->replica_groups = std::move(first.replica_groups);
  program->has_collectives =
      std::any_of(first.instructions.begin(), first.instructions.end(), is_collective);
  program->kernel = std::move(first.kernel);
  program->architecture = first.architecture;
  program->arguments = std::move(first.arguments);
  program->constants = std::move(first.constants);
  program->source_lines = std::move(first.source_lines);
  program->sbuf_peak = peak(*program, MemoryKind::kSbuf);
  program->psum_peak = peak(*program, MemoryKind::kPsum);
  finish_program(*program, usage);
  return program;
}

}  // namespace

std::shared_ptr<const Program> lower(std::vector<StraightLine> lines) { return program_of(lines); }

std::shared_ptr<const Program> lower(StraightLine line) {
  std::vector<StraightLine> lines;
  lines.push_back(std::move(line));
  return program_of(lines);
}

}  // namespace neuron_sim
