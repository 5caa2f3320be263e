#pragma once
// register_move: a constant or another register into a register of a sequencer.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// register[dst] = src, an immediate or, with src_register, another register of the sequencer of
/// `engine`. Registers are 32 bits wide: the immediate is an int32 or uint32 value and keeps its
/// sign. dst, src_register < limits.registers. EngineKind::kAuto is Sync, and makes the register a
/// virtual one: those of all sequencers get the value.
struct RegisterMove {
  int64_t dst = 0;
  int64_t src = 0;
  int64_t src_register = -1;  ///< -1: src is the value
  EngineKind engine = EngineKind::kAuto;

  enum AttributeIndex { kDst, kSrc, kSrcRegister };
  static constexpr auto fields() {
    using T = RegisterMove;
    return std::tuple{
        attribute<kDst>("dst", &T::dst).required(), attribute<kSrc>("src", &T::src),
        attribute<kSrcRegister>("src_register", &T::src_register).of_kind(AttributeKind::kRegister),
        engine_of(&T::engine)};
  }
  Draft draft() const;
};

extern const InstructionType kRegisterMove;

}  // namespace neuron_sim
