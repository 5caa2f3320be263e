#pragma once
// Executions of loops within a straight line.

#include <vector>

#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

/// One execution of a loop: instances [begin, end) of the program order.
struct LoopRun {
  uint32_t begin = 0, end = 0;
};

/// The executions of all loops with `level` loops around them, in program order: consecutive
/// instances of one loop with the same variables of the loops around it.
std::vector<LoopRun> runs_at(const StraightLine& line, size_t level);

}  // namespace neuron_sim
