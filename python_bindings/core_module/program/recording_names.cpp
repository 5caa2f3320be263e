#include "python_bindings/core_module/program/recording_names.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "device/base/errors.h"
#include "device/observe/event_text.h"
#include "device/observe/program_counters.h"
#include "device/observe/queue_name.h"
#include "python_bindings/core_module/program/program_timing.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

nb::list operand_list(const Program& program, const Instruction& instruction) {
  nb::list operands;
  const auto fields = instruction.type->operands;
  const auto given = program.operands_of(instruction);
  for (size_t i = 0; i < fields.size(); ++i) {
    nb::dict entry;
    entry["name"] = std::string(fields[i].name);
    if (has_operand(given, i)) {
      entry["text"] = operand_text(program, given[i]);
      entry["reads"] = given[i].reads();
      entry["writes"] = given[i].writes();
    }
    operands.append(entry);
  }
  return operands;
}

/// What an instruction asks of its unit, for advice.
void add_demand(const Program& program, const Instruction& instruction, nb::dict& entry) {
  const Demand& demand = program.demands[instruction.demand];
  const Step& step = demand.steps[demand.count > 1 ? 1 : 0];
  int32_t partitions = 0;
  for (const Operand& operand : program.operands_of(instruction)) {
    const bool on_chip = operand.memory == MemoryKind::kSbuf || operand.memory == MemoryKind::kPsum;
    if (on_chip) partitions = std::max(partitions, operand.partitions);
  }
  entry["unit"] = unit_name(step.unit);
  entry["partitions"] = partitions;
  entry["elements"] = step.elements;
  entry["transpose"] = step.transpose || step.matmul == MatmulClass::kFp32Transpose;
  entry["contiguous_bytes"] = step.bytes / std::max<int64_t>(step.fragments, 1);
}

/// The vendor's name for the type of queue that a transfer uses; "" of other instructions.
const char* queue_type(const Program& program, const Instruction& instruction) {
  const Step& step = program.demands[instruction.demand].steps[0];
  if (step.unit != Unit::kDma && step.unit != Unit::kGpSimdDma) return "";
  switch (queue_kind(program, instruction)) {
    case QueueKind::kIO: return step.store ? "output" : "input";
    case QueueKind::kSpillReload: return "data";
    case QueueKind::kHardwareDynamic: return "hardware_dynamic";
    case QueueKind::kSoftwareDynamic: return "software_dynamic";
  }
  return "";
}

std::string input_dtype(const Program& program, const Instruction& instruction) {
  for (const Operand& operand : program.operands_of(instruction)) {
    if (operand.present() && !operand.writes()) return std::string(name(operand.dtype));
  }
  return "";
}

/// Everything that instruction_list says about an instruction.
std::string description(const Program& program, const Instruction& instruction) {
  std::string result = text(instruction.type->name, ';', static_cast<int>(instruction.engine), ';',
                            static_cast<int>(instruction.core), ';', instruction.source_line, ';',
                            instruction.demand);
  for (const Operand& operand : program.operands_of(instruction)) {
    result += ';';
    if (operand.present()) {
      result += text(operand_text(program, operand), static_cast<int>(operand.direction));
    }
  }
  return result;
}

}  // namespace

nb::list instruction_list(const Program& program, std::vector<uint32_t>& kinds) {
  nb::list result;
  std::unordered_map<std::string, uint32_t> known;
  for (const Instruction& instruction : program.instructions) {
    const auto [found, added] = known.try_emplace(description(program, instruction), known.size());
    kinds.push_back(found->second);
    if (!added) continue;
    nb::dict entry;
    entry["name"] = std::string(instruction.type->name);
    entry["engine"] = name(instruction.engine);
    entry["core"] = instruction.core;
    entry["source"] = source_of(program, instruction);
    entry["operands"] = operand_list(program, instruction);
    add_demand(program, instruction, entry);
    result.append(entry);
  }
  return result;
}

nb::list instruction_counts(const Program& program) {
  nb::list result;
  std::unordered_set<std::string> known;
  for (const Instruction& instruction : program.instructions) {
    if (!known.insert(description(program, instruction)).second) continue;
    nb::dict entry = counters_by_name(instruction_counters(program, instruction));
    entry["queue_type"] = queue_type(program, instruction);
    entry["dtype"] = input_dtype(program, instruction);
    result.append(entry);
  }
  return result;
}

nb::list tile_list(const Program& program) {
  nb::list result;
  for (const Tile& tile : program.tiles) {
    nb::dict entry;
    entry["label"] = tile.label;
    entry["memory"] = name(tile.memory);
    entry["dtype"] = std::string(name(tile.dtype));
    entry["core"] = tile.core;
    entry["start_partition"] = tile.start_partition;
    entry["partitions"] = tile.partitions;
    entry["address"] = tile.address;
    entry["bytes"] = tile.bytes;
    entry["is_argument"] = tile.argument >= 0;
    result.append(entry);
  }
  return result;
}

}  // namespace neuron_sim
