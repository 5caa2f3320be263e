#pragma once
// register_load: a value in memory into a register of a sequencer.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// register[dst] of the sequencer of `engine` = the single element of `src`, int32 or uint32 in
/// SBUF or HBM. dst < limits.registers. EngineKind::kAuto is Sync, and makes the register a virtual
/// one: those of all sequencers get the value.
struct RegisterLoad {
  static constexpr std::string_view kName = "register_load";
  int64_t dst = 0;
  View src{};
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kSrc };
  enum AttributeIndex { kDst };
  static constexpr auto fields() {
    using T = RegisterLoad;
    return std::tuple{attribute<kDst>("dst", &T::dst).required(),
                      operand<kSrc>("src", Direction::kRead, &T::src), engine_of(&T::engine)};
  }
  Draft draft() const;
};

extern const InstructionType kRegisterLoad;

}  // namespace neuron_sim
