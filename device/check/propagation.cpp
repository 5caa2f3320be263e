#include "device/check/propagation.h"

#include <algorithm>

#include "device/numerics/operators.h"

namespace neuron_sim {
namespace {

/// Whether it reduces its results into registers of the engine, which the checker does not follow.
bool keeps_reduction(const Program& program, const Instruction& instruction) {
  const auto operands = program.operands_of(instruction);
  const auto is_written = [](const Operand& operand) {
    return operand.present() && operand.writes();
  };
  const auto is_accumulator = [](const Operand& operand) {
    return operand.memory == MemoryKind::kAccumulator;
  };
  return !reduces(program, instruction) &&
         std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
           return is_written(operand) && is_accumulator(operand);
         });
}

}  // namespace

bool reduces(const Program& program, const Instruction& instruction) {
  const auto operands = program.operands_of(instruction);
  return std::any_of(operands.begin() + 1, operands.end(), [](const Operand& operand) {
    return operand.present() && operand.writes() && operand.memory != MemoryKind::kRandomState &&
           operand.memory != MemoryKind::kAccumulator;
  });
}

UndefinedUse undefined_use(const Program& program, const Instruction& instruction,
                           size_t position) {
  const InstructionType& type = *instruction.type;
  const OperandField& field = type.operands[position];
  if (field.direction == Direction::kReadWrite) return UndefinedUse::kKept;
  const bool elementwise = type.is_elementwise && (!field.optional || field.per_partition);
  const UndefinedUse use = elementwise ? UndefinedUse::kPassedOn : field.undefined;
  const bool is_source = field.direction == Direction::kRead;
  return is_source && keeps_reduction(program, instruction) ? UndefinedUse::kReported : use;
}

bool fills(const InstructionType& type) {
  return type.is_elementwise &&
         std::all_of(type.operands.begin(), type.operands.end(), [](const OperandField& field) {
           return field.direction == Direction::kWrite;
         });
}

bool accumulates(const Program& program, const Instruction& instruction) {
  const auto operands = program.operands_of(instruction);
  if (!operands.empty() && operands[0].direction == Direction::kReadWrite) {
    // nc_matmul into PSUM, dma_copy that adds.
    return instruction.type->operands[0].direction == Direction::kWrite;
  }
  AluOp op = AluOp::kNone;
  const auto attributes = program.attributes_of(instruction);
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (instruction.type->attributes[i].kind != AttributeKind::kAluOp) continue;
    const AluOp next = attributes[i].as<AluOp>();
    if (next == AluOp::kNone) continue;
    if (!is_reduction(next) || (op != AluOp::kNone && op != next)) return false;
    op = next;
  }
  return op != AluOp::kNone;
}

}  // namespace neuron_sim
