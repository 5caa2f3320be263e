#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = the random number state of the engine: partition p of dst, counted from its first, gets
/// the words of lane p. dst is a [P, 6] (GpSimd) or [P, 24] (Vector) tile of uint32 in SBUF, on the
/// Vector engine also in PSUM; rand_set_state with it restores the state. Engines: GpSimd from
/// NeuronCore-v3, Vector from NeuronCore-v4 (docs/hardware_facts.md#rand_get_state).
struct RandGetState {
  static constexpr std::string_view kName = "rand_get_state";
  View dst;
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd

  enum OperandIndex { kTile, kState };
  static constexpr auto fields() {
    using T = RandGetState;
    return std::tuple{operand<kTile>("dst", Direction::kWrite, &T::dst), engine_of(&T::engine),
                      hidden_operand<kState>("random_state", Direction::kRead)};
  }
  Draft draft() const;
};
extern const InstructionType kRandGetState;

}  // namespace neuron_sim
