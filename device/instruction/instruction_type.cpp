#include "device/instruction/instruction_type.h"

#include "device/base/errors.h"

namespace neuron_sim {

Draft::Draft() = default;
Draft::Draft(const Draft&) = default;
Draft::Draft(Draft&&) noexcept = default;
Draft& Draft::operator=(const Draft&) = default;
Draft& Draft::operator=(Draft&&) noexcept = default;
Draft::~Draft() = default;

Draft make_draft(const InstructionType& type, EngineKind engine,
                 std::initializer_list<const View*> operands,
                 std::initializer_list<Attribute> attributes) {
  require(operands.size() <= kMaximumOperands, "an instruction has at most eighteen operands");
  Draft draft;
  draft.type = &type;
  draft.engine = engine;
  draft.operands.reserve(operands.size());
  for (const View* operand : operands) draft.operands.push_back(*operand);
  draft.attributes = attributes;
  return draft;
}

Draft draft_of_operands(const InstructionType& type, std::span<const View* const> operands) {
  Draft draft;
  draft.type = &type;
  draft.operands.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] != nullptr) draft.operands[i] = *operands[i];
  }
  draft.attributes.resize(type.attributes.size());
  return draft;
}

int64_t Access::elements() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= free[static_cast<size_t>(i)].size;
  return count;
}

}  // namespace neuron_sim
