#pragma once
// register_store: a register of a sequencer into memory.

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst = the 32 bits of register[src] of the sequencer of `engine`; dst is the single element of an
/// int32 or uint32 tensor in SBUF or HBM. src < limits.registers. EngineKind::kAuto is Sync. A
/// program that stores registers runs in program order on one thread (Program::uses_registers);
/// whatever reads dst later waits for the store like for any other write.
struct RegisterStore {
  View dst{};
  int64_t src = 0;
  EngineKind engine = EngineKind::kAuto;

  Draft draft() const;
};

extern const InstructionType kRegisterStore;

}  // namespace neuron_sim
