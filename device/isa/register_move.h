#pragma once
// register_move: a constant into a register of a sequencer.

#include "device/isa/instruction_type.h"

namespace neuron_sim {

/// register[register_index] of the sequencer of `engine` = immediate. Registers are 32 bits wide:
/// the immediate is an int32 or uint32 value and keeps its sign. register_index <
/// limits.registers. EngineKind::kAuto is Sync.
struct RegisterMove {
  int64_t register_index = 0;
  int64_t immediate = 0;
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kRegisterMove;

}  // namespace neuron_sim
