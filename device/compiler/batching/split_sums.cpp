#include "device/compiler/batching/split_sums.h"

#include "device/compiler/batching/batch_statements.h"

namespace neuron_sim {

void split_sums(StraightLine& line) {
  BatchRule rule;
  rule.around_sums = true;
  batch_statements(line, rule);
}

}  // namespace neuron_sim
