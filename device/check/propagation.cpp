#include "device/check/propagation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "device/numerics/operators.h"

namespace neuron_sim {
namespace {

/// A source of an instruction whose elements go to the elements of dst at the same place.
struct ElementwiseSource {
  std::string_view instruction;
  std::string_view operand;
};

constexpr std::array kSources = {
    ElementwiseSource{"dma_copy", "src"},
    ElementwiseSource{"tensor_copy", "src"},
    ElementwiseSource{"tensor_copy_predicated", "src"},
    ElementwiseSource{"tensor_tensor", "data1"},
    ElementwiseSource{"tensor_tensor", "data2"},
    ElementwiseSource{"tensor_scalar", "data"},
    ElementwiseSource{"tensor_scalar", "operand0"},
    ElementwiseSource{"tensor_scalar", "operand1"},
    ElementwiseSource{"scalar_tensor_tensor", "data"},
    ElementwiseSource{"scalar_tensor_tensor", "operand0"},
    ElementwiseSource{"scalar_tensor_tensor", "operand1"},
    ElementwiseSource{"activation", "data"},
    ElementwiseSource{"activation", "bias"},
    ElementwiseSource{"activation", "scale"},
    ElementwiseSource{"activate2", "data"},
    ElementwiseSource{"activate2", "imm0"},
    ElementwiseSource{"activate2", "imm1"},
    ElementwiseSource{"reciprocal", "data"},
    ElementwiseSource{"exponential", "src"},
    ElementwiseSource{"affine_select", "on_true_tile"},
    ElementwiseSource{"range_select", "on_true_tile"},
    ElementwiseSource{"select_reduce", "on_true"},
    ElementwiseSource{"select_reduce", "on_false"},
    ElementwiseSource{"dropout", "data"},
    ElementwiseSource{"nc_transpose", "data"},
};

/// Whether something other than its destination gets a value: a reduction of what it computes.
bool reduces(const Program& program, const Instruction& instruction) {
  const auto operands = program.operands_of(instruction);
  return std::any_of(operands.begin() + 1, operands.end(), [](const Operand& operand) {
    return operand.present() && operand.writes() && operand.memory != MemoryKind::kRandomState;
  });
}

}  // namespace

UndefinedUse undefined_use(const Program& program, const Instruction& instruction,
                           size_t position) {
  const InstructionType& type = *instruction.type;
  const Operand& operand = program.operands_of(instruction)[position];
  if (operand.direction == Direction::kReadWrite) {
    if (type.operands[position].direction == Direction::kReadWrite) return UndefinedUse::kKept;
    const bool moves = program.demands[instruction.demand].steps[0].unit == Unit::kDma;
    if (moves) return UndefinedUse::kPassedOn;
    return type.name == "nc_stream_shuffle" ? UndefinedUse::kKept : UndefinedUse::kReported;
  }
  const std::string_view name = type.operands[position].name;
  const bool elementwise =
      type.name.starts_with("dma_compute")
          ? name.starts_with("src")
          : std::any_of(kSources.begin(), kSources.end(), [&](const ElementwiseSource& source) {
              return source.instruction == type.name && source.operand == name;
            });
  if (!elementwise || reduces(program, instruction)) return UndefinedUse::kReported;
  return UndefinedUse::kPassedOn;
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
