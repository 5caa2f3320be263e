#include "python_bindings/core_module/program/operation_list.h"

#include <nanobind/stl/string.h>

#include <string>
#include <unordered_set>

#include "device/base/errors.h"
#include "device/numerics/operators.h"
#include "device/observe/event_text.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

nb::object value_of(const Attribute& attribute, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kReal: return nb::cast(attribute.real());
    case AttributeKind::kFlag: return nb::cast(attribute.flag());
    case AttributeKind::kAluOp: return nb::cast(std::string(name(attribute.as<AluOp>())));
    case AttributeKind::kActivation: return nb::cast(std::string(name(attribute.as<Activation>())));
    default: return nb::cast(attribute.integer());
  }
}

int64_t elements_of(const Operand& operand) {
  int64_t elements = 1;
  for (int8_t i = 0; i < operand.rank; ++i) elements *= operand.free[static_cast<size_t>(i)].size;
  return elements;
}

bool is_dynamic(const Operand& operand) {
  return operand.register_index >= 0 || operand.indirect || operand.term_count > 0;
}

nb::dict described(const Program& program, const Operand& operand) {
  nb::dict entry;
  entry["tile"] = program.tiles[static_cast<size_t>(operand.tile)].label;
  entry["memory"] = name(operand.memory);
  entry["dtype"] = std::string(name(operand.dtype));
  entry["partitions"] = operand.partitions;
  entry["elements"] = elements_of(operand);
  entry["is_dynamic"] = is_dynamic(operand);
  return entry;
}

/// Everything that operation_list() says about an instruction.
std::string key_of(const Program& program, const Instruction& instruction) {
  std::string key = text(instruction.type->name, ';', static_cast<int>(instruction.engine), ';',
                         instruction.engine_given, ';', instruction.source_line);
  for (const Attribute& attribute : program.attributes_of(instruction))
    key += text(';', attribute.bits);
  for (const Operand& operand : program.operands_of(instruction)) {
    if (!operand.present()) {
      key += ";;";
      continue;
    }
    key += text(";;", program.tiles[static_cast<size_t>(operand.tile)].label, ',',
                static_cast<int>(operand.memory), ',', static_cast<int>(operand.dtype), ',',
                operand.partitions, ',', elements_of(operand), ',', is_dynamic(operand));
  }
  return key;
}

}  // namespace

nb::list operation_list(const Program& program) {
  nb::list result;
  std::unordered_set<std::string> known;
  for (const Instruction& instruction : program.instructions) {
    if (!known.insert(key_of(program, instruction)).second) continue;
    const InstructionType& type = *instruction.type;
    const auto values = program.attributes_of(instruction);
    const auto given = program.operands_of(instruction);
    nb::dict attributes, operands, entry;
    for (size_t i = 0; i < values.size(); ++i) {
      attributes[type.attributes[i].name] = value_of(values[i], type.attributes[i].kind);
    }
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].present()) operands[type.operands[i].name] = described(program, given[i]);
    }
    entry["name"] = std::string(type.name);
    entry["engine"] = name(instruction.engine);
    entry["names_engine"] = instruction.engine_given;
    entry["source"] = source_of(program, instruction);
    entry["attributes"] = attributes;
    entry["operands"] = operands;
    result.append(entry);
  }
  return result;
}

}  // namespace neuron_sim
