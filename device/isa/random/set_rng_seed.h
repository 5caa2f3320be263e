#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// The random number state of every lane of the Vector engine = that of a seed, the [1, 1] tile
/// src_seeds of 32 bits in SBUF or PSUM: int32, uint32 or the bits of an fp32 number
/// (docs/hardware_facts.md#set_rng_seed; device/numerics/random_bits.h says which state a seed
/// gives). rng, rand2 and
/// dropout of the Vector engine then repeat the numbers they gave after that seed before.
struct SetRngSeed {
  View src_seeds;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kSeeds, kState };
  static constexpr auto fields() {
    using T = SetRngSeed;
    return std::tuple{operand<kSeeds>("src_seeds", Direction::kRead, &T::src_seeds),
                      engine_of(&T::engine),
                      hidden_operand<kState>("random_state", Direction::kWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kSetRngSeed;

}  // namespace neuron_sim
