#pragma once
// How often loops on registers run in a timeline without a run: what the program itself says about
// its registers, else an assumption of the user.

#include <array>
#include <optional>

#include "device/program/program.h"

namespace neuron_sim {

/// Iterations that every loop on a register is taken to have where the program does not say:
/// NEURON_SIM_DYNAMIC_TRIPS, else none. KernelError for a value that is no number of iterations.
std::optional<int64_t> assumed_trips();

/// Follows the registers of one core that hold constants: register_alloc and register_move with a
/// number, or from such a register. What comes from memory is not known.
class LoopForecast {
 public:
  LoopForecast(const Program& program, std::optional<int64_t> assumed)
      : program_(program), assumed_(assumed) {
    for (auto& registers : values_) registers.fill(0);  // as at the start of a run
  }

  /// An instruction in the order of the program.
  void pass(const Instruction& instruction);
  /// Trips of a range. KernelError when neither the program nor the user says.
  int64_t trips(const Loop& loop);
  /// Whether a while loop begins that iteration. KernelError as for trips().
  bool continues(const Loop& loop, int64_t iteration);

 private:
  using Value = std::optional<int64_t>;
  Value value(const Loop& loop, const RegisterValue& value) const;
  int64_t assumed(const Loop& loop) const;

  const Program& program_;
  std::optional<int64_t> assumed_;
  std::array<std::array<Value, 64>, kEngineCount> values_;
};

}  // namespace neuron_sim
