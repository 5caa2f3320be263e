#include "device/compiler/line/instance_checks.h"

#include <bit>

namespace neuron_sim {
namespace {

void append(std::string& key, int64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// What view_of() makes of an operand; its tile as the first operand that has the same one.
void append(std::string& key, const StraightLine& line, std::span<const StraightOperand> operands,
            const StraightOperand& operand) {
  append(key, static_cast<int64_t>(operand.memory) << 32 | operand.pattern);
  if (!operand.present()) return;
  int64_t first = 0;
  while (operands[static_cast<size_t>(first)].tile != operand.tile) ++first;
  const Tile& tile = line.tile_of(operand);
  const bool on_chip = operand.memory != MemoryKind::kHbm;
  append(key, first);
  append(key, on_chip ? operand.start_partition - tile.start_partition : 0);
  append(key, on_chip ? operand.offset - tile.address : operand.offset);
}

}  // namespace

bool InstanceChecks::renew_demand(StraightLine& line, StraightInstruction& instance) {
  const Instruction& instruction = instance.instruction;
  key_.clear();
  append(key_, std::bit_cast<int64_t>(instruction.type));
  append(key_, static_cast<int64_t>(instruction.engine));
  append(key_, instruction.core);
  for (const Attribute& attribute : line.attributes_of(instance)) append(key_, attribute.bits);
  const auto operands = line.operands_of(instance);
  for (const StraightOperand& operand : operands) append(key_, line, operands, operand);
  const auto [entry, fresh] = demands_.try_emplace(key_, kIllegal);
  if (fresh && renew_demand_if_legal(line, instance)) entry->second = instance.instruction.demand;
  if (entry->second == kIllegal) return false;
  instance.instruction.demand = entry->second;
  return true;
}

}  // namespace neuron_sim
