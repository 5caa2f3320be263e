#include "device/compiler/line/change_engine.h"

#include <algorithm>

#include "device/compiler/line/straight_line.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {

std::shared_ptr<const Program> on_engine(const Program& program, std::string_view source_line,
                                         EngineKind engine) {
  StraightLine pools = pools_of(program);
  auto changed = std::make_shared<Program>(program);
  bool moved = false;
  for (Instruction& instruction : changed->instructions) {
    if (instruction.source_line < 0 || instruction.engine == engine) continue;
    const auto line = static_cast<size_t>(instruction.source_line);
    const Demand& demand = program.demands[instruction.demand];
    const bool elementwise = demand.count == 1 && demand.steps[0].unit == Unit::kElementwise;
    if (!elementwise || program.source_lines[line] != source_line) continue;
    const auto operands = program.operands_of(instruction);
    const bool keeps_state = std::any_of(operands.begin(), operands.end(), [](const Operand& each) {
      return each.present() && each.tile < kEngineStateCount;  // of its engine
    });
    if (keeps_state) continue;
    StraightInstruction candidate{instruction};
    candidate.instruction.engine = engine;
    if (!renew_demand_if_legal(pools, candidate)) continue;
    instruction = candidate.instruction;
    instruction.engine_given = true;
    moved = true;
  }
  if (!moved) return nullptr;
  changed->demands = std::move(pools.demands);
  return changed;
}

}  // namespace neuron_sim
