#include "device/compiler/line/loop_runs.h"

#include <algorithm>

namespace neuron_sim {

std::vector<LoopRun> runs_at(const StraightLine& line, size_t level) {
  const auto inside = [&](const StraightInstruction& instance) {
    return static_cast<size_t>(line.nest_of(instance).depth) > level;
  };
  const auto together = [&](const StraightInstruction& first, const StraightInstruction& second) {
    if (first.nest == second.nest) return true;
    const Nest &a = line.nest_of(first), &b = line.nest_of(second);
    const auto outer = static_cast<std::ptrdiff_t>(level);
    return std::equal(a.loops.begin(), a.loops.begin() + outer + 1, b.loops.begin()) &&
           std::equal(a.iteration.begin(), a.iteration.begin() + outer, b.iteration.begin());
  };
  std::vector<LoopRun> runs;
  const auto count = static_cast<uint32_t>(line.instructions.size());
  for (uint32_t begin = 0; begin < count;) {
    uint32_t end = begin + 1;
    if (inside(line.instructions[begin])) {
      while (end < count && inside(line.instructions[end]) &&
             together(line.instructions[begin], line.instructions[end])) {
        ++end;
      }
      runs.push_back({begin, end});
    }
    begin = end;
  }
  return runs;
}

}  // namespace neuron_sim
