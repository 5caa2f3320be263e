#include "device/observe/event_text.h"

#include "device/base/errors.h"

namespace neuron_sim {

std::string event_name(const Program& program, const StepEvent& event) {
  const std::string_view base = program.instructions[event.instruction].type->name;
  switch (event.kind) {
    case EventKind::kWait: return text(base, " wait");
    case EventKind::kTableLoad: return text(base, " table load");
    case EventKind::kGeneration: return text(base, " descriptor generation");
    case EventKind::kTrigger: return text(base, " trigger");
    case EventKind::kStep:
      if (event.unit == Unit::kLoadStationary) return text(base, " load stationary");
      break;
    case EventKind::kTransfer: break;
  }
  return std::string(base);
}

std::string operand_text(const Program& program, const Operand& operand) {
  std::string shape = text(operand.partitions);
  for (int i = 0; i < operand.rank; ++i) {
    shape += text(", ", operand.free[static_cast<size_t>(i)].size);
  }
  const Tile& tile = program.tiles[static_cast<size_t>(operand.tile)];
  return text(tile.label, " [", shape, "] ", name(operand.dtype), " ", name(operand.memory));
}

std::string source_of(const Program& program, const Instruction& instruction) {
  if (instruction.source_line < 0) return "";
  return program.source_lines[static_cast<size_t>(instruction.source_line)];
}

std::string slot_name(Slot slot) {
  const char* const engine = name(engine_of(slot));
  return is_queue(slot) ? text("DMA queue of ", engine) : engine;
}

}  // namespace neuron_sim
