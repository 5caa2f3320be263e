#include "device/compiler/middle_end/split_sums.h"

#include "device/compiler/middle_end/batch_statements.h"

namespace neuron_sim {

void split_sums(StraightLine& line) {
  BatchRule rule;
  rule.around_sums = true;
  batch_statements(line, rule);
}

}  // namespace neuron_sim
