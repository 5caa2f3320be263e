// The text form of a Program, from the field tables.

#include "device/base/errors.h"
#include "device/program/program.h"

namespace neuron_sim {
namespace {

std::string address(const Program& program, const Operand& operand) {
  const Tile& tile = program.tiles[static_cast<size_t>(operand.tile)];
  std::string result =
      text(tile.label, operand.ring > 1 ? text("%", operand.ring) : "", "[", operand.partitions);
  for (int i = 0; i < operand.rank; ++i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    result += text(", ", dimension.size, ":", dimension.stride);
  }
  result += text("]@", operand.offset);
  for (uint8_t i = 0; i < operand.term_count; ++i) {
    const Term& term = program.terms[operand.first_term + i];
    if (term.offset_step != 0) result += text("+", term.offset_step, "*i", term.level);
  }
  if (operand.register_index >= 0) {
    result += text("+", operand.register_scale, "*r", operand.register_index);
  }
  return text(result, " ", name(operand.dtype));
}

/// ` over [[0, 1], [2, 3]]` for instructions with replica groups.
std::string ranks_of(const Program& program, const Instruction& instruction) {
  const auto fields = instruction.type->attributes;
  if (fields.empty() || fields[0].kind != AttributeKind::kReplicaGroups) return "";
  const int64_t index = program.attributes_of(instruction)[0].integer();
  return " over " + program.replica_groups[static_cast<size_t>(index)]->describe();
}

void list(const Program& program, const Block& block, const std::string& indent, std::string& out) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      const std::string trips =
          loop.register_index < 0 ? text(loop.trip_count) : text("r", loop.register_index);
      out += text(indent, "loop i", loop.level, " < ", trips, ":\n");
      list(program, loop.body, indent + "  ", out);
      continue;
    }
    const Instruction& instruction = program.instructions[node.index];
    const InstructionType& type = *instruction.type;
    out += text(indent, name(instruction.engine), " ", type.name, "(");
    const auto operands = program.operands_of(instruction);
    const char* separator = "";
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].present()) continue;
      out += text(separator, type.operands[i].name, "=", address(program, operands[i]));
      separator = ", ";
    }
    out += ")" + ranks_of(program, instruction) + "\n";
  }
}

}  // namespace

std::string listing(const Program& program) {
  std::string out = text("kernel ", program.kernel, " for ", program.architecture->name, "\n");
  for (size_t core = 0; core < program.cores.size(); ++core) {
    const bool several = program.cores.size() > 1;
    if (several) out += text("  core ", core, ":\n");
    list(program, program.cores[core], several ? "    " : "  ", out);
  }
  return out;
}

}  // namespace neuron_sim
