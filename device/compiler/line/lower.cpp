// Straight lines back to a Program.

#include "device/compiler/line/lower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "device/builder/finish_program.h"
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
    for (const Operand& operand : line.operands_of(instance)) {
      if (operand.present()) used[static_cast<size_t>(operand.tile)] = true;
      program.uses_registers = program.uses_registers || operand.indirect;
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

/// Gives the operands of an instance that may keep bytes of its result the directions of their
/// fields.
void restore_directions(const StraightLine& line, const StraightInstruction& instance,
                        std::span<Operand> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandField& field = instance.instruction.type->operands[i];
    const bool adds =
        field.read_if_attribute >= 0 &&
        line.attributes_of(instance)[static_cast<size_t>(field.read_if_attribute)].flag();
    if (!adds) operands[i].direction = field.direction;
  }
}

/// Gives the operands of an instance the tiles of the program and the directions of their fields.
void rename_tiles(const StraightLine& line, const StraightInstruction& instance,
                  const std::vector<TileId>& tiles, std::span<Operand> operands) {
  for (Operand& operand : operands) {
    if (operand.present()) operand.tile = tiles[static_cast<size_t>(operand.tile)];
  }
  if (may_keep_bytes(instance.instruction, line.attributes_of(instance))) {
    restore_directions(line, instance, operands);
  }
}

/// Appends an instance; its attributes and demand are numbered in the pools of its line.
void append(const StraightLine& line, const StraightInstruction& instance,
            const std::vector<TileId>& tiles, Program& program) {
  Instruction instruction = instance.instruction;
  instruction.first_operand = static_cast<uint32_t>(program.operands.size());
  const auto operands = line.operands_of(instance);
  program.operands.insert(program.operands.end(), operands.begin(), operands.end());
  rename_tiles(line, instance, tiles,
               {program.operands.data() + instruction.first_operand, operands.size()});
  instruction.first_attribute += static_cast<uint32_t>(program.attributes.size());
  instruction.demand += static_cast<uint32_t>(program.demands.size());
  program.instructions.push_back(instruction);
}

/// Edges of the instances: each waits for the last instance before it of a producer.
std::vector<Edge> instance_edges(const StraightLine& line) {
  std::map<uint32_t, std::vector<uint32_t>> producers;  // by statement
  for (const Edge& edge : line.edges) producers[edge.consumer].push_back(edge.producer);
  std::map<uint32_t, uint32_t> last;  // instance of a statement
  std::vector<Edge> edges;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    const uint32_t statement = line.instructions[i].statement;
    const auto found = producers.find(statement);
    if (found != producers.end()) {
      for (const uint32_t producer : found->second) {
        const auto instance = last.find(producer);
        if (instance != last.end()) edges.push_back({i, instance->second});
      }
    }
    last[statement] = i;
  }
  return edges;
}

/// The edges that a line needs in the program: beside those of its statements the ones of its
/// meetings, `alone` all of them, else those that do not follow from the tensor that is met on.
std::vector<Edge> edges_of_line(const StraightLine& line, bool alone) {
  std::vector<Edge> edges;
  if (!line.edges.empty()) edges = instance_edges(line);
  for (const Edge& edge : meeting_edges(line)) {
    // In a program of one core a tensor that only the other one writes needs no history.
    if (alone || !follows_from_operands(line, edge)) edges.push_back(edge);
  }
  return edges;
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

/// The operands of the instances, when each has its own and few others are in the pool; else none.
std::vector<bool> own_operands(const StraightLine& line) {
  std::vector<bool> used(line.operands.size());
  size_t count = 0;
  for (const StraightInstruction& instance : line.instructions) {
    const Instruction& instruction = instance.instruction;
    for (size_t i = 0; i < instruction.operand_count; ++i, ++count) {
      if (used[instruction.first_operand + i]) return {};
      used[instruction.first_operand + i] = true;
    }
  }
  return 2 * count >= used.size() ? used : std::vector<bool>{};
}

/// Moves all instances of the only core, whose pool becomes the program's: a long program has no
/// room for the two that append() needs.
void move_instances(StraightLine& line, const Numbers& tiles, const std::vector<bool>& used,
                    Program& program) {
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) line.operands[i] = {};
  }
  for (const StraightInstruction& instance : line.instructions) {
    rename_tiles(line, instance, tiles, line.operands_of(instance));
    program.instructions.push_back(instance.instruction);
  }
  program.operands.swap(line.operands);
}

/// Appends the instances of a line as a core of the program; `alone`: as the only one.
void append_core(StraightLine& line, const Numbers& tiles, bool alone, Program& program) {
  const auto first = static_cast<uint32_t>(program.instructions.size());
  program.instructions.reserve(first + line.instructions.size());
  Block& block = program.cores.emplace_back();
  block.reserve(line.instructions.size());
  for (const StraightInstruction& instance : line.instructions) {
    const bool meets = !alone && is_meeting(instance);
    block.push_back({meets ? Node::Kind::kSynchronisation : Node::Kind::kInstruction,
                     first + static_cast<uint32_t>(block.size())});
  }
  // The edges compare operands, which move_instances() takes away.
  const std::vector<Edge> edges = edges_of_line(line, alone);
  const std::vector<bool> used = alone ? own_operands(line) : std::vector<bool>{};
  if (!used.empty()) {
    move_instances(line, tiles, used, program);
  } else {
    for (const StraightInstruction& instance : line.instructions) {
      append(line, instance, tiles, program);
    }
  }
  for (const Edge& edge : edges) {
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
  for (size_t core = 0; core < lines.size(); ++core) {
    append_core(lines[core], numbers[core], lines.size() == 1, *program);
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
  finish_program(*program);
  return program;
}

/// Lends the pools of a line to a program, or takes them back.
void exchange_pools(StraightLine& line, Program& program) {
  line.operands.swap(program.operands);
  line.attributes.swap(program.attributes);
  line.demands.swap(program.demands);
  line.tiles.swap(program.tiles);
  line.source_lines.swap(program.source_lines);
  line.replica_groups.swap(program.replica_groups);
}

}  // namespace

std::shared_ptr<const Program> lower(std::vector<StraightLine> lines) { return program_of(lines); }

std::shared_ptr<const Program> lower(StraightLine line) {
  std::vector<StraightLine> lines;
  lines.push_back(std::move(line));
  return program_of(lines);
}

void read_lowered(StraightLine& line, const std::function<void(const Program&)>& read) {
  Program program;
  program.kernel = line.kernel;
  program.architecture = line.architecture;
  program.arguments = line.arguments;
  program.edges = edges_of_line(line, true);
  program.instructions.reserve(line.instructions.size());
  Block& block = program.cores.emplace_back();
  block.reserve(line.instructions.size());
  std::vector<std::pair<uint32_t, Direction>> before;  // by operand: what is changed below
  for (const StraightInstruction& instance : line.instructions) {
    const Instruction& instruction = instance.instruction;
    block.push_back({Node::Kind::kInstruction, static_cast<uint32_t>(block.size())});
    program.instructions.push_back(instruction);
    if (!may_keep_bytes(instruction, line.attributes_of(instance))) continue;
    const std::span<Operand> operands = line.operands_of(instance);
    for (uint32_t i = 0; i < operands.size(); ++i) {
      before.emplace_back(instruction.first_operand + i, operands[i].direction);
    }
    restore_directions(line, instance, operands);
  }
  exchange_pools(line, program);
  finish_program(program);
  read(program);
  exchange_pools(line, program);
  for (auto each = before.rbegin(); each != before.rend(); ++each) {
    line.operands[each->first].direction = each->second;
  }
}

}  // namespace neuron_sim
