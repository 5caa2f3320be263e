#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// The random number state of lane p = partition p of src_seeds, counted from its first; lanes
/// beyond its partitions keep theirs. src_seeds is a [P, 6] (GpSimd) or [P, 24] (Vector) tile of
/// uint32 in SBUF, on the Vector engine also in PSUM; device/numerics/random_bits.h has the meaning
/// of the words. Any words are taken; words x to v of a XORWOW generator that are all 0 stay so.
/// Engines: GpSimd from NeuronCore-v3, Vector from NeuronCore-v4 (isa.json rand_set_state).
struct RandSetState {
  View src_seeds;
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd
  Draft draft() const;
};
extern const InstructionType kRandSetState;

}  // namespace neuron_sim
