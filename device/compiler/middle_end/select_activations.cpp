#include "device/compiler/middle_end/select_activations.h"

#include <optional>
#include <vector>

#include "device/base/errors.h"
#include "device/isa/activation/activation.h"
#include "device/isa/elementwise/tensor_scalar.h"

namespace neuron_sim {
namespace {

using Scalars = TensorScalar;

/// Stages of a tensor_scalar whose operands become scale and bias; empty: none does.
struct ScaleAndBias {
  std::optional<size_t> scale, bias;
};

/// nullopt unless an activation has the same operators.
std::optional<ScaleAndBias> scale_and_bias_of(std::span<const Attribute> attributes) {
  const auto op0 = attributes[Scalars::kOp0].as<AluOp>();
  const auto op1 = attributes[Scalars::kOp1].as<AluOp>();
  if (op0 == AluOp::kAdd && op1 == AluOp::kNone) return ScaleAndBias{std::nullopt, 0};
  if (op0 != AluOp::kMultiply) return std::nullopt;
  if (op1 == AluOp::kNone) return ScaleAndBias{0, std::nullopt};
  return op1 == AluOp::kAdd ? std::optional(ScaleAndBias{0, 1}) : std::nullopt;
}

/// The instance as an activation; nullopt where no activation computes the same.
std::optional<Draft> as_activation(const StraightLine& line, const StraightInstruction& instance) {
  const Instruction& instruction = instance.instruction;
  if (instruction.type != &kTensorScalar || instruction.engine_given) return std::nullopt;
  const auto attributes = line.attributes_of(instance);
  const std::optional<ScaleAndBias> found = scale_and_bias_of(attributes);
  if (!found) return std::nullopt;
  const WholeOperands operands = line.whole_operands_of(instance);
  Activate result{.dst = view_of(line, operands[Scalars::kDst]),
                  .data = view_of(line, operands[Scalars::kData])};
  const auto take = [&](std::optional<size_t> stage, View& tile, double& constant) {
    if (!stage) return;
    const size_t operand = Scalars::kOperand0 + *stage;
    if (has_operand(operands, operand)) tile = view_of(line, operands[operand]);
    const size_t number = Scalars::kConstant0 + *stage * Scalars::kPerStage;
    if (!tile.present()) constant = attributes[number].real();
  };
  take(found->scale, result.scale_tile, result.scale);
  take(found->bias, result.bias_tile, result.bias);
  // Adding a constant 0 makes -0 positive, but an activation without a bias adds nothing.
  if (found->bias && !result.bias_tile.present()) return std::nullopt;
  Draft draft = result.draft();
  draft.core = instruction.core;
  draft.engine = EngineKind::kScalar;
  try {
    kActivation.check(draft, *line.architecture);
  } catch (const KernelError&) {
    return std::nullopt;
  }
  return draft;
}

/// Makes the instance that activation, with the operands that it has.
void replace(StraightLine& line, StraightInstruction& instance, const Draft& activation) {
  const WholeOperands before = line.whole_operands_of(instance);
  const ScaleAndBias found = *scale_and_bias_of(line.attributes_of(instance));
  const auto operand = [&](std::optional<size_t> stage) {
    const bool given = stage && has_operand(before, Scalars::kOperand0 + *stage);
    return given ? before[Scalars::kOperand0 + *stage] : Operand{};
  };
  std::vector<Operand> operands(activation.operands.size());
  operands[Activate::kDst] = before[Scalars::kDst];
  operands[Activate::kData] = before[Scalars::kData];
  operands[Activate::kBias] = operand(found.bias);
  operands[Activate::kScale] = operand(found.scale);
  operands.resize(static_cast<size_t>(activation.stored_count()));
  Instruction& instruction = instance.instruction;
  instruction.type = &kActivation;
  instruction.engine = EngineKind::kScalar;
  set_operands(line, instance, operands);
  instruction.first_attribute = static_cast<uint32_t>(line.attributes.size());
  instruction.attribute_count = static_cast<uint8_t>(activation.attributes.size());
  line.attributes.insert(line.attributes.end(), activation.attributes.begin(),
                         activation.attributes.end());
  renew_demand(line, instance);
}

}  // namespace

void select_activations(StraightLine& line) {
  if (line.architecture->features.scalar_tensor_ops) return;
  for (StraightInstruction& instance : line.instructions) {
    if (const std::optional<Draft> activation = as_activation(line, instance)) {
      replace(line, instance, *activation);
    }
  }
}

}  // namespace neuron_sim
