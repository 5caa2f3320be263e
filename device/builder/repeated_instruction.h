#pragma once
// Instructions that a front end emits again and again, as unrolled loops do.

#include <cstdint>
#include <optional>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// An instruction that a draft repeats.
struct Repeated {
  uint32_t instruction;
  /// On the same tiles: its operands serve the draft too. Else on other tiles of the same sizes.
  bool has_same_tiles;
};

/// One of the last instructions of that source line that differs from `draft` in nothing but its
/// number, or else in its tiles: its checks hold for `draft` as well, and its attributes and demand
/// serve both. `loop_of`: the innermost loop around each instruction; `loop`: the one around the
/// draft. Empty without a source line, and for operands in rings, at registers or with indices in
/// memory.
std::optional<Repeated> repeated_instruction(const Program& program, const Draft& draft,
                                             int32_t source_line,
                                             const std::vector<int32_t>& loop_of, int32_t loop);

}  // namespace neuron_sim
