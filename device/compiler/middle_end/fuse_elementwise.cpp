#include "device/compiler/middle_end/fuse_elementwise.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "device/compiler/line/access_pattern.h"
#include "device/compiler/line/instance_checks.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"

namespace neuron_sim {
namespace {

using Scalars = TensorScalar;

/// Operands and attributes of the one instruction.
struct Fused {
  const InstructionType* type = nullptr;
  std::vector<StraightOperand> operands;
  std::vector<Attribute> attributes;
};

bool is_one_operation(const StraightLine& line, const StraightInstruction& instance) {
  return instance.instruction.type == &kTensorScalar &&
         line.attributes_of(instance)[Scalars::kOp1].as<AluOp>() == AluOp::kNone;
}

template <typename Type>
std::vector<Type> copied(std::span<const Type> pool, size_t size = 0) {
  std::vector<Type> copy(pool.begin(), pool.end());
  copy.resize(std::max(copy.size(), size));
  return copy;
}

/// `first` as the first operation of a tensor_scalar, `second` as its second one.
Fused two_operations(const StraightLine& line, const StraightInstruction& first,
                     const StraightInstruction& second) {
  const auto later = line.operands_of(second);
  const auto numbers = line.attributes_of(second);
  Fused fused{&kTensorScalar, copied(line.operands_of(first), Scalars::kOperand1 + 1),
              copied(line.attributes_of(first))};
  fused.operands[Scalars::kDst] = later[Scalars::kDst];
  if (has_operand(later, Scalars::kOperand0)) {
    fused.operands[Scalars::kOperand1] = later[Scalars::kOperand0];
  }
  for (const size_t of : {Scalars::kOp0, Scalars::kConstant0, Scalars::kReverse0}) {
    fused.attributes[of + Scalars::kPerStage] = numbers[of];
  }
  return fused;
}

/// `first` and the operation of a tensor_tensor whose operand `data` is its result.
Fused with_tile(const StraightLine& line, const StraightInstruction& first,
                const StraightInstruction& second, size_t data) {
  using Both = ScalarTensorTensor;
  const bool is_second = data == TensorTensor::kData2;
  const auto later = line.operands_of(second);
  const auto earlier = line.operands_of(first);
  const auto numbers = line.attributes_of(first);
  Fused fused{&kScalarTensorTensor, std::vector<StraightOperand>(Both::kOperand1 + 1), {}};
  fused.operands[Both::kDst] = later[TensorTensor::kDst];
  fused.operands[Both::kData] = earlier[Scalars::kData];
  if (has_operand(earlier, Scalars::kOperand0)) {
    fused.operands[Both::kOperand0] = earlier[Scalars::kOperand0];
  }
  fused.operands[Both::kOperand1] = later[is_second ? TensorTensor::kData1 : TensorTensor::kData2];
  fused.attributes = {numbers[Scalars::kOp0], numbers[Scalars::kConstant0],
                      numbers[Scalars::kReverse0], line.attributes_of(second)[TensorTensor::kOp],
                      Attribute::of(is_second)};
  return fused;
}

/// `first` as scale or bias of an activation that has neither.
std::optional<Fused> with_scale(const StraightLine& line, const StraightInstruction& first,
                                const StraightInstruction& second) {
  const auto earlier = line.operands_of(first);
  const auto later = line.operands_of(second);
  const auto numbers = line.attributes_of(first);
  const auto op = numbers[Scalars::kOp0].as<AluOp>();
  Fused fused{&kActivation, copied(later, Activate::kScale + 1),
              copied(line.attributes_of(second))};
  if (has_operand(later, Activate::kScale) || has_operand(later, Activate::kBias)) return {};
  if (fused.attributes[Activate::kScaleConstant].real() != 1) return {};
  if (fused.attributes[Activate::kBiasConstant].real() != 0) return {};
  if (op != AluOp::kMultiply && op != AluOp::kAdd) return {};
  const bool scales = op == AluOp::kMultiply;
  fused.operands[Activate::kData] = earlier[Scalars::kData];
  if (has_operand(earlier, Scalars::kOperand0)) {
    fused.operands[scales ? Activate::kScale : Activate::kBias] = earlier[Scalars::kOperand0];
  } else {
    const size_t constant = scales ? Activate::kScaleConstant : Activate::kBiasConstant;
    fused.attributes[constant] = numbers[Scalars::kConstant0];
  }
  return fused;
}

/// Both instructions as one, of which operand `data` of the second is the result of the first.
std::optional<Fused> fused(const StraightLine& line, const StraightInstruction& first,
                           const StraightInstruction& second, size_t data) {
  if (is_one_operation(line, second) && data == Scalars::kData) {
    return two_operations(line, first, second);
  }
  if (second.instruction.type == &kTensorTensor) return with_tile(line, first, second, data);
  if (second.instruction.type == &kActivation && data == Activate::kData) {
    return with_scale(line, first, second);
  }
  return std::nullopt;
}

/// Gives the instance what is fused; leaves it unchanged where its check refuses that.
bool replaced(StraightLine& line, StraightInstruction& instance, const Fused& by,
              InstanceChecks& checks) {
  const Instruction before = instance.instruction;
  Instruction& changed = instance.instruction;
  changed.type = by.type;
  changed.first_operand = static_cast<uint32_t>(line.operands.size());
  changed.operand_count = static_cast<uint8_t>(by.operands.size());
  line.operands.insert(line.operands.end(), by.operands.begin(), by.operands.end());
  changed.first_attribute = static_cast<uint32_t>(line.attributes.size());
  changed.attribute_count = static_cast<uint8_t>(by.attributes.size());
  line.attributes.insert(line.attributes.end(), by.attributes.begin(), by.attributes.end());
  if (checks.renew_demand(line, instance)) return true;
  instance.instruction = before;
  return false;
}

/// Whether something between two instances writes what the first one reads, or the second one
/// overwrites it in another order than it is read.
bool loses_inputs(const StraightLine& line, const TileUses& writes, uint32_t first,
                  uint32_t second) {
  const StraightOperand& result = line.operands_of(line.instructions[second])[0];
  const auto operands = line.operands_of(line.instructions[first]);
  return std::any_of(operands.begin() + 1, operands.end(), [&](const StraightOperand& input) {
    if (!input.present()) return false;
    if (result.tile == input.tile && overlap(line.region_of(result), line.region_of(input)) &&
        !is_same_access(result, input)) {
      return true;
    }
    const auto between = writes.of(input.tile);
    return std::any_of(between.begin(), between.end(), [&](const TileUse& use) {
      return use.instance > first && use.instance < second &&
             overlap(line.region_of(operand_at(line, use)), line.region_of(input));
    });
  });
}

}  // namespace

void fuse_elementwise(StraightLine& line) {
  const TileUses uses(line);
  const TileUses writes(line, TileUses::kWrites);
  std::vector<bool> removed(line.instructions.size());
  InstanceChecks checks;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (!is_one_operation(line, line.instructions[i])) continue;
    const StraightOperand result = line.operands_of(line.instructions[i])[Scalars::kDst];
    if (line.pattern_of(result).dtype != Dtype::kFloat32 || line.tile_of(result).placed) continue;
    const std::span<const TileUse> both = uses.of(result.tile);
    if (both.size() != 2 || both[0].instance != i || both[1].instance <= i) continue;
    const auto [reader, operand] = both[1];
    StraightInstruction& second = line.instructions[reader];
    const StraightOperand read = operand_at(line, both[1]);
    if (read.direction != Direction::kRead || !is_same_access(read, result)) continue;
    if (loses_inputs(line, writes, i, reader)) continue;
    const auto one = fused(line, line.instructions[i], second, operand);
    removed[i] = one && replaced(line, second, *one, checks);
  }
  remove_instances(line, removed);
}

}  // namespace neuron_sim
