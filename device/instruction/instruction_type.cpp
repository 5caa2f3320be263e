#include "device/instruction/instruction_type.h"

#include "device/base/errors.h"

namespace neuron_sim {

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

int64_t Access::elements() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= free[static_cast<size_t>(i)].size;
  return count;
}

}  // namespace neuron_sim
