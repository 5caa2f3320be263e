#include "device/compiler/line/straight_line.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "device/base/errors.h"
#include "device/builder/finish_program.h"
#include "device/operand/engine_state.h"
#include "device/program/cursor.h"

namespace neuron_sim {
namespace {

/// Instances of a block without register loops.
int64_t count_instances(const Program& program, const Block& block) {
  int64_t count = 0;
  for (const Node& node : block) {
    const bool loop = node.kind == Node::Kind::kLoop;
    const Loop* body = loop ? &program.loops[node.index] : nullptr;
    count += loop ? body->trip_count * count_instances(program, body->body) : 1;
  }
  return count;
}

/// Loops around an instruction, outermost first.
struct Nest {
  std::array<uint32_t, kMaximumLoopDepth> loops{};
  int8_t depth = 0;
};

void note_nests(const Program& program, const Block& block, const Nest& nest,
                std::vector<Nest>& nests) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      Nest inner = nest;
      inner.loops[static_cast<size_t>(inner.depth++)] = node.index;
      note_nests(program, program.loops[node.index].body, inner, nests);
    } else {
      nests[node.index] = nest;
    }
  }
}

/// Whether out-of-range rows of an index leave bytes of the result unchanged. During the passes
/// such a result counts as read, so that it stays with the bytes before it; the program marks it as
/// only written, because a gather may target an unwritten tile.
bool may_keep_bytes(const Instruction& instruction, std::span<const Attribute> attributes) {
  const int index = attribute_index(*instruction.type, "oob_skip");
  return index >= 0 && attributes[static_cast<size_t>(index)].flag();
}

/// Visitor that appends every instance to a straight line.
class Unroll {
 public:
  Unroll(const Program& program, StraightLine& line)
      : program_(program), line_(line), nests_(program.instructions.size()) {
    note_nests(program, program.cores.at(0), {}, nests_);
  }

  int64_t trip_count(const Loop& loop) const { return loop.trip_count; }
  int64_t boundary(const Loop&, uint32_t, int64_t, int64_t) const { return 0; }
  void meet(const Meeting&) { require(false, "a straight line has one core"); }

  void instruction(uint32_t index, const int64_t* variables) {
    StraightInstruction instance;
    instance.instruction = program_.instructions[index];
    instance.instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
    instance.statement = index;
    instance.depth = nests_[index].depth;
    instance.loops = nests_[index].loops;
    for (size_t level = 0; level < static_cast<size_t>(instance.depth); ++level) {
      instance.iteration[level] = static_cast<int32_t>(variables[level]);
    }
    const Instruction& instruction = program_.instructions[index];
    const bool keeps = may_keep_bytes(instruction, program_.attributes_of(instruction));
    for (const Operand& operand : program_.operands_of(instruction)) {
      line_.operands.push_back(resolved(operand, variables));
      Operand& copy = line_.operands.back();
      if (keeps && copy.writes()) copy.direction = Direction::kReadWrite;
    }
    line_.instructions.push_back(instance);
  }

 private:
  Operand resolved(const Operand& operand, const int64_t* variables) const {
    if (!operand.present()) return operand;
    const Location location = locate(program_, operand, variables, nullptr);
    Operand result = operand;
    result.region = region_at(operand, location);
    result.tile = location.tile;
    result.start_partition = location.partition;
    result.offset = location.offset;
    result.ring = 1;
    result.ring_start = 0;
    result.ring_stride = 0;
    result.first_term = 0;
    result.term_count = 0;
    return result;
  }

  const Program& program_;
  StraightLine& line_;
  std::vector<Nest> nests_;
};

/// New numbers of the tiles that the program keeps; kNoTile for those on chip that nothing uses.
std::vector<TileId> number_tiles(const StraightLine& line) {
  std::vector<bool> used(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    for (const Operand& operand : line.operands_of(instance)) {
      if (operand.present()) used[static_cast<size_t>(operand.tile)] = true;
    }
  }
  std::vector<TileId> numbers(line.tiles.size(), kNoTile);
  TileId next = 0;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    const MemoryKind memory = line.tiles[i].memory;
    const bool on_chip = memory == MemoryKind::kSbuf || memory == MemoryKind::kPsum;
    if (used[i] || !on_chip) numbers[i] = next++;
  }
  return numbers;
}

void append(const StraightLine& line, const StraightInstruction& instance,
            const std::vector<TileId>& tiles, Program& program) {
  Instruction instruction = instance.instruction;
  instruction.first_operand = static_cast<uint32_t>(program.operands.size());
  const bool keeps = may_keep_bytes(instruction, line.attributes_of(instance));
  const auto fields = instruction.type->operands;
  for (Operand operand : line.operands_of(instance)) {
    if (operand.present()) operand.tile = tiles[static_cast<size_t>(operand.tile)];
    const OperandField& field = fields[program.operands.size() - instruction.first_operand];
    const bool adds =
        field.read_if_attribute >= 0 &&
        line.attributes_of(instance)[static_cast<size_t>(field.read_if_attribute)].flag();
    if (keeps && !adds) operand.direction = field.direction;
    program.operands.push_back(operand);
  }
  program.cores[0].push_back(
      {Node::Kind::kInstruction, static_cast<uint32_t>(program.instructions.size())});
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

int64_t peak(const Program& program, MemoryKind memory) {
  int64_t end = 0;
  for (const Tile& tile : program.tiles) {
    if (tile.memory == memory) end = std::max(end, tile.address + tile.bytes);
  }
  return end;
}

/// Whether a loop, an address or a parameter is a register. Rows that an index tile names are
/// operands like others: only their order counts, not their values.
bool reads_registers(const Program& program) {
  const auto is_register = [](const auto& each) { return each.register_index >= 0; };
  if (std::any_of(program.loops.begin(), program.loops.end(), is_register) ||
      std::any_of(program.operands.begin(), program.operands.end(), is_register)) {
    return true;
  }
  for (const Instruction& instruction : program.instructions) {
    for (size_t i = 0; i < instruction.attribute_count; ++i) {
      const bool reads = instruction.type->attributes[i].kind == AttributeKind::kRegister;
      if (reads && program.attributes_of(instruction)[i].integer() >= 0) return true;
    }
  }
  return false;
}

}  // namespace

std::string unroll_objection(const Program& program, int64_t maximum) {
  if (program.cores.size() > 1) return "it uses both cores of a logical core";
  if (reads_registers(program)) return "its loops or addresses depend on registers";
  for (const Instruction& instruction : program.instructions) {
    const Demand& demand = program.demands[instruction.demand];
    const bool sequencer = demand.count > 0 && demand.steps[0].unit == Unit::kSequencer;
    if (sequencer) return "it uses registers";
    if (instruction.type->synchronises != Synchronisation::kNone) {
      const bool cores = meets_other_core(instruction.type->synchronises);
      return text(cores ? "its cores" : "its ranks", " meet at '", instruction.type->name, "'");
    }
  }
  const int64_t instances = count_instances(program, program.cores.at(0));
  if (instances <= maximum) return "";
  return text("its ", instances, " instances are more than the ", maximum,
              " that the compiler's passes unroll");
}

Unrolled unroll(const Program& program, int64_t maximum) {
  Unrolled result;
  result.reason = unroll_objection(program, maximum);
  if (!result.reason.empty()) return result;
  StraightLine& line = result.line.emplace();
  line.kernel = program.kernel;
  line.architecture = program.architecture;
  line.attributes = program.attributes;
  line.tiles = program.tiles;
  line.version_of.resize(program.tiles.size());
  std::iota(line.version_of.begin(), line.version_of.end(), 0);
  line.arguments = program.arguments;
  line.constants = program.constants;
  line.demands = program.demands;
  line.source_lines = program.source_lines;
  line.edges = program.edges;
  line.loops = static_cast<uint32_t>(program.loops.size());
  Unroll visitor(program, line);
  Cursor<Unroll>(program, visitor).walk();
  return result;
}

std::shared_ptr<const Program> lower(StraightLine line) {
  auto program = std::make_shared<Program>();
  const std::vector<TileId> numbers = number_tiles(line);
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    if (numbers[i] == kNoTile) continue;
    program->tiles.push_back(line.tiles[i]);
    program->tiles.back().hazard_group = -1;
    program->tiles.back().widened = false;
    if (line.tiles[i].scratch >= 0) program->scratch.push_back(numbers[i]);
  }
  program->cores.emplace_back();
  program->instructions.reserve(line.instructions.size());
  program->operands.reserve(line.operands.size());
  for (const StraightInstruction& instance : line.instructions) {
    append(line, instance, numbers, *program);
  }
  if (!line.edges.empty()) program->edges = instance_edges(line);
  program->kernel = std::move(line.kernel);
  program->architecture = line.architecture;
  program->spills = line.spills;
  program->attributes = std::move(line.attributes);
  program->arguments = std::move(line.arguments);
  program->constants = std::move(line.constants);
  program->demands = std::move(line.demands);
  program->source_lines = std::move(line.source_lines);
  program->sbuf_peak = peak(*program, MemoryKind::kSbuf);
  program->psum_peak = peak(*program, MemoryKind::kPsum);
  program->uses_registers = std::any_of(program->operands.begin(), program->operands.end(),
                                        [](const Operand& operand) { return operand.indirect; });
  finish_program(*program);
  return program;
}

}  // namespace neuron_sim
