#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// The random number state of lane p = partition p of src_seeds, counted from its first; lanes
/// beyond its partitions keep theirs. src_seeds is a [P, 6] (GpSimd) or [P, 24] (Vector) tile of
/// uint32 in SBUF, on the Vector engine also in PSUM; device/numerics/random_bits.h has the meaning
/// of the words. Any words are accepted; words x to v of a XORWOW generator that are all 0 stay so.
/// Engines: GpSimd from NeuronCore-v3, Vector from NeuronCore-v4
/// (docs/hardware_facts.md#rand_set_state).
struct RandSetState {
  static constexpr std::string_view kName = "rand_set_state";
  View src_seeds;
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd

  enum OperandIndex { kTile, kState };
  static constexpr auto fields() {
    using T = RandSetState;
    return std::tuple{operand<kTile>("src_seeds", Direction::kRead, &T::src_seeds),
                      engine_of(&T::engine),
                      hidden_operand<kState>("random_state", Direction::kWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kRandSetState;

}  // namespace neuron_sim
