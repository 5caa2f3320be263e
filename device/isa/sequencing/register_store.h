#pragma once
// register_store: a register of a sequencer into memory.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = the 32 bits of register[src] of the sequencer of `engine`; dst is the single element of an
/// int32 or uint32 tensor in SBUF or HBM. src < limits.registers. EngineKind::kAuto is Sync. A
/// program that stores registers runs in program order on one thread (Program::uses_registers);
/// whatever reads dst later waits for the store as for any other write.
struct RegisterStore {
  static constexpr std::string_view kName = "register_store";
  View dst{};
  int64_t src = 0;
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kDst };
  enum AttributeIndex { kSrc };
  static constexpr auto fields() {
    using T = RegisterStore;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      attribute<kSrc>("src", &T::src).required().of_kind(AttributeKind::kRegister),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};

extern const InstructionType kRegisterStore;

}  // namespace neuron_sim
