#include "device/compiler/batching/batch_narrow_operations.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/compiler/batching/batch_statements.h"

namespace neuron_sim {
namespace {

/// Instances that one instruction may replace: kBatchElements of the widest operand.
int64_t most_narrow(const StraightLine& line, const StraightInstruction& instance) {
  const Demand& demand = line.demands[instance.instruction.demand];
  if (demand.count == 0 || demand.steps[0].unit != Unit::kElementwise) return 0;
  int64_t widest = 1;
  for (const StraightOperand& operand : line.operands_of(instance)) {
    if (operand.present()) widest = std::max(widest, free_elements(line.pattern_of(operand)));
  }
  return kBatchElements / widest;
}

}  // namespace

void batch_narrow_operations(StraightLine& line) {
  BatchRule rule;
  rule.most = most_narrow;
  batch_statements(line, rule);
}

}  // namespace neuron_sim
