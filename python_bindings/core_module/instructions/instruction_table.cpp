#include "python_bindings/core_module/instructions/instruction_table.h"

#include "device/base/errors.h"
#include "device/instruction/instruction_type.h"
#include "device/isa/sequencing/compile_time_query.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

const char* described(Direction direction) {
  switch (direction) {
    case Direction::kRead: return "read";
    case Direction::kWrite: return "write";
    case Direction::kReadWrite: return "read, write";
  }
  return "";
}

/// An instruction on single fp32 elements in SBUF with all attributes zero.
Draft plain_draft(const InstructionType& type) {
  Draft draft;
  draft.type = &type;
  const View element(MemoryKind::kSbuf, 0, Dtype::kFloat32, {1, 1}, {1, 4}, "element");
  draft.operands.assign(type.operands.size(), element);
  draft.attributes.resize(type.attributes.size());
  return draft;
}

/// "" when this does not determine an engine.
std::string default_engine(const InstructionType& type, const Architecture& architecture) {
  try {
    return name(type.choose_engine(plain_draft(type), architecture));
  } catch (const std::exception&) {
    return "";
  }
}

/// False when the check refuses the instruction because of the generation.
bool exists(const InstructionType& type, const Architecture& architecture) {
  Draft draft = plain_draft(type);
  try {
    draft.engine = type.choose_engine(draft, architecture);
    type.check(draft, architecture);
  } catch (const KernelError& error) {
    return std::string(error.what()).find("needs NeuronCore-v") == std::string::npos;
  } catch (const std::exception&) {  // the plain draft makes no sense to this instruction
  }
  return true;
}

nb::dict described(const InstructionType& type, const Architecture& architecture) {
  nb::list operands;
  for (const OperandField& field : type.operands) {
    nb::dict operand;
    operand["name"] = field.name;
    operand["direction"] = described(field.direction);
    operand["optional"] = field.optional;
    operands.append(operand);
  }
  nb::list attributes;
  for (const AttributeField& field : type.attributes) attributes.append(nb::str(field.name));
  nb::dict entry;
  entry["name"] = nb::str(type.name.data(), type.name.size());
  entry["operands"] = operands;
  entry["attributes"] = attributes;
  entry["engine"] = nb::str(default_engine(type, architecture).c_str());
  entry["exists"] = exists(type, architecture);
  return entry;
}

}  // namespace

nb::list instruction_table(const std::string& architecture) {
  nb::list result;
  for (const InstructionType* type : instruction_list()) {
    result.append(described(*type, load_architecture(architecture)));
  }
  return result;
}

nb::dict compile_time_query_values(const std::string& architecture) {
  nb::dict result;
  for (const CompileTimeQuery& query : compile_time_queries()) {
    result[nb::str(query.name.data(), query.name.size())] =
        query.value(load_architecture(architecture));
  }
  return result;
}

}  // namespace neuron_sim
