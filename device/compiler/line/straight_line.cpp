#include "device/compiler/line/straight_line.h"

#include <algorithm>
#include <numeric>

#include "device/base/errors.h"
#include "device/compiler/line/meetings.h"
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

/// Operands of all of them.
size_t count_operands(const Program& program, const Block& block) {
  size_t count = 0;
  for (const Node& node : block) {
    const bool loop = node.kind == Node::Kind::kLoop;
    const Loop* body = loop ? &program.loops[node.index] : nullptr;
    count += loop ? static_cast<size_t>(body->trip_count) * count_operands(program, body->body)
                  : program.instructions[node.index].operand_count;
  }
  return count;
}

/// The loops around each instruction, without their variables.
struct Nests {
  std::vector<Nest> nests{Nest{}};
  std::vector<uint32_t> of;  ///< by instruction

  void note(const Program& program, const Block& block, uint32_t nest) {
    for (const Node& node : block) {
      if (node.kind == Node::Kind::kLoop) {
        Nest inner = nests[nest];
        inner.loops[static_cast<size_t>(inner.depth++)] = node.index;
        nests.push_back(inner);
        note(program, program.loops[node.index].body, static_cast<uint32_t>(nests.size() - 1));
      } else {
        of[node.index] = nest;
      }
    }
  }
};

/// Visitor that appends every instance of one core to a straight line, and notes what the other one
/// touches.
class Unroll : public EveryIteration {
 public:
  Unroll(const Program& program, size_t core, StraightLine& line)
      : program_(program),
        core_(core),
        line_(line),
        nests_{.of = std::vector<uint32_t>(program.instructions.size())},
        peer_(program.tiles.size()) {
    nests_.note(program, program.cores.at(core), 0);
    forms_.reserve(program.operands.size());
    for (const Operand& operand : program.operands) {
      forms_.push_back(
          {line.straight(operand), operand.first_term, operand.term_count, operand.ring > 1});
    }
    for (const Instruction& instruction : program.instructions) {
      if (!may_keep_bytes(instruction, program.attributes_of(instruction))) continue;
      for (size_t i = 0; i < instruction.operand_count; ++i) {
        StraightOperand& operand = forms_[instruction.first_operand + i].operand;
        if (operand.writes()) operand.direction = Direction::kReadWrite;
      }
    }
  }

  void meet(const Meeting& meeting) {
    append(static_cast<uint32_t>(meeting.instruction[core_]), meeting.variables[core_]);
  }

  void instruction(uint32_t index, const int64_t* variables) {
    if (program_.instructions[index].core == core_) return append(index, variables);
    const Instruction& instruction = program_.instructions[index];
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      const StraightOperand access = operand_at(instruction.first_operand + i, variables);
      if (access.memory == MemoryKind::kHbm) peer_.add(line_.whole(access));
    }
  }

  /// What the other core touches, after the walk.
  std::shared_ptr<const PeerAccesses> peer() {
    std::vector<bool> written(line_.tiles.size());
    for (const StraightOperand& operand : line_.operands) {
      if (operand.present() && operand.writes()) written[static_cast<size_t>(operand.tile)] = true;
    }
    peer_.seal(written);
    return std::make_shared<const PeerAccesses>(std::move(peer_));
  }

 private:
  /// An operand of the program: what its instances begin with, and how they differ.
  struct Form {
    StraightOperand operand;
    uint32_t first_term = 0;
    uint8_t term_count = 0;
    bool turns = false;  ///< through a ring of tiles
  };

  void append(uint32_t index, const int64_t* variables) {
    StraightInstruction& instance = line_.instructions.emplace_back();
    instance.instruction = program_.instructions[index];
    const uint32_t first = instance.instruction.first_operand;
    instance.instruction.first_operand = static_cast<uint32_t>(line_.operands.size());
    instance.statement = index;
    instance.nest = nest_at(index, variables);
    for (uint32_t i = 0; i < instance.instruction.operand_count; ++i) {
      line_.operands.push_back(operand_at(first + i, variables));
    }
  }

  /// The loop nest of an instance; equal to the previous one at that depth, that nest is reused.
  uint32_t nest_at(uint32_t index, const int64_t* variables) {
    const uint32_t loops = nests_.of[index];
    const auto depth = static_cast<size_t>(nests_.nests[loops].depth);
    if (const std::optional<uint32_t>& same = last_nests_[depth]; same && last_loops_ == loops) {
      const auto& iteration = line_.nests[*same].iteration;
      if (std::equal(variables, variables + depth, iteration.begin())) return *same;
    }
    last_loops_ = loops;
    Nest nest = nests_.nests[loops];
    std::transform(variables, variables + depth, nest.iteration.begin(),
                   [](int64_t variable) { return static_cast<int32_t>(variable); });
    std::optional<uint32_t>& last = last_nests_[depth];
    if (!last || line_.nests[*last] != nest) {
      last = static_cast<uint32_t>(line_.nests.size());
      line_.nests.push_back(nest);
    }
    return *last;
  }

  /// The operand of the program at its place for these loop variables.
  StraightOperand operand_at(size_t index, const int64_t* variables) const {
    const Form& form = forms_[index];
    StraightOperand operand = form.operand;
    if (form.turns) {
      const Location location = locate(program_, program_.operands[index], variables, nullptr);
      operand.tile = location.tile;
      operand.start_partition = location.partition;
      operand.offset = location.offset;
      return operand;
    }
    const Term* term = program_.terms.data() + form.first_term;
    for (uint8_t i = 0; i < form.term_count; ++i, ++term) {
      const int64_t variable = variables[term->level];
      operand.offset += term->offset_step * variable;
      operand.start_partition += static_cast<int32_t>(term->partition_step * variable);
    }
    return operand;
  }

  const Program& program_;
  const size_t core_;
  StraightLine& line_;
  Nests nests_;
  std::array<std::optional<uint32_t>, kMaximumLoopDepth + 1> last_nests_;  ///< by depth
  uint32_t last_loops_ = UINT32_MAX;  ///< index into nests_ of the last instance
  std::vector<Form> forms_;           ///< of the program's operands
  PeerAccesses peer_;
};

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
  if (reads_registers(program)) return "its loops or addresses depend on registers";
  for (const Instruction& instruction : program.instructions) {
    const Demand& demand = program.demands[instruction.demand];
    const bool sequencer = demand.count > 0 && demand.steps[0].unit == Unit::kSequencer;
    if (sequencer) return "it uses registers";
    const bool collective = instruction.type->synchronises == Synchronisation::kCollective;
    if (collective && program.cores.size() > 1) {
      return text("both its cores and its ranks meet, at '", instruction.type->name, "'");
    }
  }
  int64_t instances = 0;
  for (const Block& block : program.cores) instances += count_instances(program, block);
  if (instances <= maximum) return "";
  return text("its ", instances, " instances are more than the ", maximum,
              " that the compiler's passes unroll");
}

Unrolled unroll(const Program& program, size_t core, int64_t maximum) {
  Unrolled result;
  result.reason = unroll_objection(program, maximum);
  if (!result.reason.empty()) return result;
  StraightLine& line = result.line.emplace();
  line.kernel = program.kernel;
  line.architecture = program.architecture;
  line.attributes = program.attributes;
  line.tiles = program.tiles;
  line.kernel_tiles = program.tiles.size();
  for (Tile& tile : line.tiles) {
    if (is_on_chip(tile) && tile.core != core) tile = {};
  }
  line.version_of.resize(program.tiles.size());
  std::iota(line.version_of.begin(), line.version_of.end(), 0);
  line.arguments = program.arguments;
  line.constants = program.constants;
  line.demands = program.demands;
  line.source_lines = program.source_lines;
  line.replica_groups = program.replica_groups;
  line.edges = program.edges;
  line.loops = static_cast<uint32_t>(program.loops.size());
  const Block& block = program.cores.at(core);
  line.instructions.reserve(static_cast<size_t>(count_instances(program, block)));
  // With room for what passes add: a larger pool would be a copy of this one.
  const size_t operands = count_operands(program, block);
  line.operands.reserve(operands + operands / 4);
  Unroll visitor(program, core, line);
  Cursor<Unroll>(program, visitor).walk();
  if (program.cores.size() > 1) line.peer = visitor.peer();
  return result;
}

}  // namespace neuron_sim
