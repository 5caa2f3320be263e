#include "device/isa/instruction_type.h"

#include "device/base/errors.h"

namespace neuron_sim {

Draft make_draft(Opcode opcode, EngineKind engine, std::initializer_list<const View*> operands,
                 std::initializer_list<Attribute> attributes) {
  require(operands.size() <= kMaximumOperands, "an instruction has at most six operands");
  require(attributes.size() <= kMaximumAttributes, "an instruction has at most eight attributes");
  Draft draft;
  draft.opcode = opcode;
  draft.engine = engine;
  for (const View* operand : operands) {
    draft.operands[static_cast<size_t>(draft.operand_count++)] = *operand;
  }
  for (const Attribute& attribute : attributes) {
    draft.attributes[static_cast<size_t>(draft.attribute_count++)] = attribute;
  }
  return draft;
}

int64_t Access::elements() const {
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= free[static_cast<size_t>(i)].size;
  return count;
}

}  // namespace neuron_sim
