#pragma once
// register_load: a value in memory into a register of a sequencer.

#include "device/isa/instruction_type.h"

namespace neuron_sim {

/// register[register_index] of the sequencer of `engine` = the single element of `source`, int32 or
/// uint32 in SBUF or HBM. register_index < limits.registers. EngineKind::kAuto is Sync.
struct RegisterLoad {
  int64_t register_index = 0;
  View source{};
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kRegisterLoad;

}  // namespace neuron_sim
