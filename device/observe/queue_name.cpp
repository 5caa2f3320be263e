#include "device/observe/queue_name.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {

QueueKind queue_kind(const Program& program, const Instruction& instruction) {
  const Step& step = program.demands[instruction.demand].steps[0];
  if (step.unit == Unit::kGpSimdDma) return QueueKind::kSoftwareDynamic;
  switch (step.descriptors) {
    case DescriptorKind::kHardware: return QueueKind::kHardwareDynamic;
    case DescriptorKind::kSoftware: return QueueKind::kSoftwareDynamic;
    case DescriptorKind::kStatic: break;
  }
  const auto is_argument = [&](const Operand& operand) {
    return operand.present() && operand.memory == MemoryKind::kHbm &&
           program.tiles[static_cast<size_t>(operand.tile)].argument >= 0;
  };
  return std::ranges::any_of(program.operands_of(instruction), is_argument)
             ? QueueKind::kIO
             : QueueKind::kSpillReload;
}

std::string queue_name(EngineKind engine, QueueKind kind) {
  const char* const owner = name(engine);
  switch (kind) {
    case QueueKind::kIO: return text("q", owner, "IO0");
    case QueueKind::kSpillReload: return text("q", owner, "SpillReload0");
    case QueueKind::kHardwareDynamic: return text("q", owner, "DynamicHW");
    case QueueKind::kSoftwareDynamic: return text("q", owner, "Dynamic");
  }
  detail::throw_bug("a queue has a kind");
}

}  // namespace neuron_sim
