#pragma once
// State that an engine keeps from one instruction to the next: tiles that every program has.

#include "device/operand/view.h"

namespace neuron_sim {

/// The number is the TileId. Instructions name such state as an operand, so that dependencies,
/// order and host threads follow from the operands alone.
enum class EngineState : TileId {
  kScalarAccumulator,  ///< reduction registers of the Scalar engine, one fp32 per partition
  kVectorAccumulator,  ///< accumulator registers of the Vector engine, one fp32 per partition
  kVectorRandom,       ///< random number state of the Vector engine, 24 uint32 per partition
  kGpSimdRandom,       ///< random number state of the GpSimd engine, 6 uint32 per partition
};
inline constexpr int kEngineStateCount = 4;

/// The first `partitions` lanes of a state: [P, 1] fp32, or [P, 24 or 6] uint32
/// (docs/hardware_facts.md#accumulators, rand_set_state).
View engine_state(EngineState state, int64_t partitions);
/// First byte of a state within each partition of its memory: CoreMemory holds the states of one
/// kind side by side.
int64_t engine_state_address(EngineState state);

}  // namespace neuron_sim
