#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = random bits: each element gets the low bits of the next 32-bit number of its partition's
/// generator, in row-major order. dst is a [P, F] tile of integers of 8, 16 or 32 bits in SBUF or
/// PSUM (GpSimd: SBUF). Partition p of dst, counted from its first, uses lane p, whose generator
/// device/numerics/random_bits.h defines; the state persists across programs until the core is
/// reset. Engines: Vector; GpSimd from NeuronCore-v3 (docs/hardware_facts.md#rng).
struct Rng {
  View dst;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kState };
  static constexpr auto fields() {
    using T = Rng;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst), engine_of(&T::engine),
                      hidden_operand<kState>("random_state", Direction::kReadWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kRng;

}  // namespace neuron_sim
