#pragma once
// register_alloc: a register of a sequencer, with a first value.

#include <optional>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// register[dst] of the sequencer of `engine` = x: the first use of a register that
/// Builder::allocate_register() handed out. x is a constant (an int32 or uint32 value, which keeps
/// its sign), or the single element of a tensor: int32 or uint32 in SBUF or HBM. Without x the
/// register keeps what it held, zero at the start of a program, and the sequencer does nothing.
/// dst < limits.registers. EngineKind::kAuto is Sync, and makes the register a virtual one: those
/// of all sequencers get the value.
struct RegisterAlloc {
  int64_t dst = 0;
  View x{};
  std::optional<int64_t> x_constant{};
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kRegisterAlloc;

}  // namespace neuron_sim
