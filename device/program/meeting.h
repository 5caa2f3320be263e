#pragma once
// Where the two cores of a program meet: core_barrier and sendrecv.

#include <array>
#include <cstdint>

#include "device/program/program.h"

namespace neuron_sim {

/// The next synchronisation of every core. The n-th of core 0 meets the n-th of core 1.
struct Meeting {
  static constexpr int64_t kEnded = -1;
  /// Index into Program::instructions; kEnded when the core has no further synchronisation.
  std::array<int64_t, kMaximumCores> instruction;
  std::array<const int64_t*, kMaximumCores> variables;  ///< of the loops around it

  Meeting() {
    instruction.fill(kEnded);
    variables.fill(nullptr);
  }
  const Instruction& of(const Program& program, int core) const {
    return program.instructions[static_cast<size_t>(instruction[static_cast<size_t>(core)])];
  }
};

/// Operands of an exchange (Synchronisation::kExchange).
inline constexpr size_t kExchangeTarget = 0, kExchangeSource = 1;

/// Throws KernelError unless the cores can continue: both are at the same instruction, a barrier on
/// the same tensor or an exchange of the same pipe_id by the same DMA, and what one sends is what
/// the other receives. The sentence says which core waits for what.
void check_meeting(const Program& program, const Meeting& meeting);

/// Whether a block contains a synchronisation.
bool synchronises(const Program& program, const Block& block);

}  // namespace neuron_sim
