#include "device/check/iteration_windows.h"

#include <algorithm>
#include <cstdlib>

namespace neuron_sim {
namespace {

/// What an iteration of one loop touches of a tile.
struct Window {
  int64_t step = 0;  ///< bytes to the next iteration
  int64_t low = 0, high = 0;
  bool written = false;
  bool known = true;  ///< all accesses are inside
};

/// Bytes that an operand moves by from one iteration at that level to the next; 0 when that is not
/// all that its place depends on.
int64_t step_of(const Program& program, const Operand& operand, int32_t level) {
  if (operand.term_count != 1 || operand.ring > 1 || operand.register_index >= 0 ||
      operand.indirect) {
    return 0;
  }
  const Term& term = program.terms[operand.first_term];
  return term.level == level && term.partition_step == 0 ? term.offset_step : 0;
}

void widen(Window& window, const Operand& operand, int64_t step, bool is_first) {
  if (is_first) window = {step, operand.region.low, operand.region.high()};
  window.low = std::min(window.low, operand.region.low);
  window.high = std::max(window.high, operand.region.high());
  window.written = window.written || operand.writes();
  window.known = window.known && step != 0 && step == window.step;
}

}  // namespace

std::vector<bool> tiles_apart(const Program& program, const std::vector<IterationMark>& marks) {
  std::vector<bool> apart;
  for (const Tile& tile : program.tiles) apart.push_back(tile.memory == MemoryKind::kSbuf);
  std::vector<Window> windows(apart.size());
  std::vector<bool> is_touched(apart.size());
  for (const IterationMark& mark : marks) {
    if (mark.kind != IterationMark::Kind::kLoop) continue;
    std::vector<size_t> touched;
    for (uint32_t i = mark.first; i < mark.end && i < program.instructions.size(); ++i) {
      for (const Operand& operand : program.operands_of(program.instructions[i])) {
        if (operand.memory != MemoryKind::kSbuf) continue;
        const int64_t step = mark.level < 0 ? 0 : step_of(program, operand, mark.level);
        for (int32_t turn = 0; turn < operand.ring; ++turn) {
          const size_t tile = static_cast<size_t>(operand.tile) + static_cast<size_t>(turn);
          widen(windows[tile], operand, step, !is_touched[tile]);
          if (!is_touched[tile]) touched.push_back(tile);
          is_touched[tile] = true;
        }
      }
    }
    for (const size_t tile : touched) {
      const Window& window = windows[tile];
      const bool fits = window.known && window.high - window.low <= std::abs(window.step);
      if (window.written && !fits) apart[tile] = false;
      is_touched[tile] = false;
    }
  }
  return apart;
}

}  // namespace neuron_sim
