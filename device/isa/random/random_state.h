#pragma once
// The random number state of the Vector and GpSimd engines as an operand.

#include "device/instruction/instruction_type.h"
#include "device/numerics/random_bits.h"

namespace neuron_sim {

/// The state of the first `partitions` lanes of GpSimd, or else of Vector.
View random_state(EngineKind engine, int64_t partitions);
/// The generator of GpSimd, or else of Vector.
RandomGenerator random_generator(EngineKind engine, const Architecture& architecture);

/// The next `count` numbers of the lane of a partition; advances its state. Valid until the
/// thread's next call.
const uint32_t* next_random_row(const Instance& instance, const Access& state, int64_t partition,
                                int64_t count);
/// The upper 24 bits of a number as a fraction in [0, 1), exact in fp32.
inline float unit_interval(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

}  // namespace neuron_sim
