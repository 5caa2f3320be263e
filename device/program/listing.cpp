// The text form of a Program, from the field tables.

#include <algorithm>

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

std::string value(const RegisterValue& value) {
  return value.register_index < 0 ? text(value.constant) : text("r", value.register_index);
}

std::string heading(const Loop& loop) {
  switch (loop.kind) {
    case LoopKind::kWhile: return text("while r", loop.register_index);
    case LoopKind::kRange:
      return text("loop r", loop.register_index, " = ", value(loop.start), " to ", value(loop.stop),
                  " step ", loop.step);
    case LoopKind::kCounted: break;
  }
  return text("loop i", loop.level, " < ",
              loop.register_index < 0 ? text(loop.trip_count) : text("r", loop.register_index));
}

void list(const Program& program, const Block& block, const std::string& indent, std::string& out) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      out += text(indent, heading(loop), ":\n");
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
    out += text(")", ranks_of(program, instruction), "\n");
  }
}

}  // namespace

std::string at_source_line(const Program& program, int32_t source_line) {
  if (source_line < 0) return "";
  return "\n  at " + program.source_lines[static_cast<size_t>(source_line)];
}

std::span<const Edge> edges_of(const Program& program, uint32_t consumer) {
  const auto by_consumer = [](const auto& a, const auto& b) { return a.consumer < b.consumer; };
  const auto [first, last] =
      std::equal_range(program.edges.begin(), program.edges.end(), Edge{consumer, 0}, by_consumer);
  return {first, last};
}

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
