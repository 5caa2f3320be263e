#include "device/program/meeting.h"

#include <string>
#include <string_view>

#include "device/base/errors.h"
#include "device/program/shared_bytes.h"

namespace neuron_sim {
namespace {

int64_t attribute(const Program& program, const Instruction& instruction, std::string_view wanted) {
  const auto fields = instruction.type->attributes;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == wanted) return program.attributes_of(instruction)[i].integer();
  }
  require(false, "an exchange has the attributes pipe_id and dma_engine");
  return 0;
}

std::string line_of(const Program& program, const Instruction& instruction) {
  if (instruction.source_line < 0) return "";
  return "\n  at " + program.source_lines[static_cast<size_t>(instruction.source_line)];
}

const Tile& tile_of(const Program& program, const Instruction& instruction, size_t operand) {
  return program.tiles[static_cast<size_t>(program.operands_of(instruction)[operand].tile)];
}

bool exchanges(const Instruction& instruction) {
  return instruction.type->synchronises == Synchronisation::kExchange;
}

/// `'core_barrier' on tensor 'x'`, `'sendrecv' with pipe_id 3`.
std::string describe(const Program& program, const Instruction& instruction) {
  if (exchanges(instruction)) {
    return text("'", instruction.type->name, "' with pipe_id ",
                attribute(program, instruction, "pipe_id"));
  }
  return text("'", instruction.type->name, "' on tensor '", tile_of(program, instruction, 0).label,
              "'");
}

/// `float32 [128, 4]`
std::string describe(const Operand& operand) {
  std::string result = text(name(operand.dtype), " [", operand.partitions);
  for (int i = 0; i < operand.rank; ++i) {
    result += text(", ", operand.free[static_cast<size_t>(i)].size);
  }
  return result + "]";
}

bool same_shape(const Operand& a, const Operand& b) {
  bool same = a.dtype == b.dtype && a.partitions == b.partitions && a.rank == b.rank;
  for (size_t i = 0; same && i < static_cast<size_t>(a.rank); ++i) {
    same = a.free[i].size == b.free[i].size;
  }
  return same;
}

/// Both cores wait, but not for each other's instruction.
[[noreturn]] void fail_mismatch(const Program& program, const Instruction& first,
                                const Instruction& second) {
  fail(text("kernel '", program.kernel, "' deadlocks: core 0 waits at ", describe(program, first),
            ", core 1 at ", describe(program, second), ".", line_of(program, first),
            line_of(program, second)),
       ErrorKind::kRuntime);
}

[[noreturn]] void fail_alone(const Program& program, const Instruction& instruction) {
  fail(text("kernel '", program.kernel, "' deadlocks: core ", int{instruction.core}, " waits at ",
            describe(program, instruction), " for core ", 1 - instruction.core,
            program.cores.size() < 2 ? ", which has no instructions." : ", which has ended.",
            line_of(program, instruction)),
       ErrorKind::kRuntime);
}

bool fit(const Program& program, const Instruction& first, const Instruction& second) {
  if (first.type != second.type) return false;
  if (exchanges(first)) {
    return attribute(program, first, "pipe_id") == attribute(program, second, "pipe_id");
  }
  const Operand& one = program.operands_of(first)[0];
  const Operand& other = program.operands_of(second)[0];
  const bool own = one.memory != MemoryKind::kHbm && one.memory == other.memory;
  return one.tile == other.tile || (own && same_shape(one, other));
}

/// What `from` sends must be what `to` receives.
void check_sent(const Program& program, const Instruction& from, const Instruction& to) {
  const Operand& source = program.operands_of(from)[kExchangeSource];
  const Operand& target = program.operands_of(to)[kExchangeTarget];
  if (same_shape(source, target)) return;
  fail(text(describe(program, from), " of kernel '", program.kernel, "': core ", int{from.core},
            " sends ", describe(source), " from tile '",
            tile_of(program, from, kExchangeSource).label, "', but core ", int{to.core},
            " receives ", describe(target), " in tile '",
            tile_of(program, to, kExchangeTarget).label, "'.", line_of(program, from),
            line_of(program, to)));
}

/// The other core writes dst while src is sent: overlapping bytes would race.
void check_in_place(const Program& program, const Instruction& instruction,
                    const int64_t* variables) {
  const Operand& target = program.operands_of(instruction)[kExchangeTarget];
  const Operand& source = program.operands_of(instruction)[kExchangeSource];
  if (target.register_index >= 0 || source.register_index >= 0) return;
  const Location to = locate(program, target, variables, nullptr);
  const Location from = locate(program, source, variables, nullptr);
  if (!overlap(region_at(target, to), region_at(source, from))) return;
  if (!shared_bytes(target, to, source, from)) return;
  fail(text(describe(program, instruction), " of core ", int{instruction.core}, " of kernel '",
            program.kernel, "': src and dst overlap in tile '",
            tile_of(program, instruction, kExchangeTarget).label, "'.",
            line_of(program, instruction)));
}

}  // namespace

void check_meeting(const Program& program, const Meeting& meeting) {
  for (int core = 0; core < kMaximumCores; ++core) {
    if (meeting.instruction[static_cast<size_t>(core)] == Meeting::kEnded) {
      fail_alone(program, meeting.of(program, 1 - core));
    }
  }
  const Instruction& first = meeting.of(program, 0);
  const Instruction& second = meeting.of(program, 1);
  if (!fit(program, first, second)) fail_mismatch(program, first, second);
  if (!exchanges(first)) return;
  if (attribute(program, first, "dma_engine") != attribute(program, second, "dma_engine")) {
    fail(text(describe(program, first), " of kernel '", program.kernel,
              "' uses different DMA engines on core 0 and on core 1.", line_of(program, first),
              line_of(program, second)));
  }
  check_sent(program, first, second);
  check_sent(program, second, first);
  check_in_place(program, first, meeting.variables[0]);
  check_in_place(program, second, meeting.variables[1]);
}

bool synchronises(const Program& program, const Block& block) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kSynchronisation) return true;
    if (node.kind == Node::Kind::kLoop && synchronises(program, program.loops[node.index].body)) {
      return true;
    }
  }
  return false;
}

}  // namespace neuron_sim
