#pragma once
// The compiler between a kernel and the chip: passes Program -> Program, each in its own file
// with its own switch, in the order of the vendor's pipeline as far as it is known.

#include <memory>
#include <string>
#include <vector>

#include "device/compiler/settings/pass_settings.h"
#include "device/program/program.h"

namespace neuron_sim {

/// The result of compile().
struct Compiled {
  std::shared_ptr<const Program> program;
  /// Why the program is unchanged, one clause; empty when the passes ran.
  std::string unchanged;
  /// Passes of the settings that were left out, because the chip cannot hold what they keep.
  std::vector<std::string> skipped_passes;
};

/// Runs the passes that `settings` switches on. The result computes the same bytes in the arguments
/// that the kernel writes, unless `elide_rounding_copies` is on, for which only time counts. A
/// program without a straight line (straight_line.h) is unchanged, as is
/// every program when all is off. The passes see one core after the other; how the two cores of a
/// program meet stays as it is (line/meetings.h). A program whose tiles do not fit the chip
/// (Program::overflow) is unrolled and renamed whatever the settings say, and tiles are spilled
/// where those passes leave no room (back_end/spill.h): KernelError(kOutOfMemory) when it has no
/// straight line, or no place for the tiles of one instruction.
Compiled compile(std::shared_ptr<const Program> program, const PassSettings& settings);

}  // namespace neuron_sim
