#pragma once

#include <array>

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant q of 32 partitions, on Vector; a
/// mask element is 0 to 31, or 255, which leaves dst[32 q + i] unchanged. [P, F] tiles in SBUF or
/// PSUM of one dtype, whose bits are copied, with equal elements per partition; their partitions
/// may differ, but no element in use may point beyond those of src. dst may be src.
/// Start partitions follow the active partitions, the larger count rounded up to 32: 96 and 128
/// start at 0, 64 at 0 or 64, 32 at a multiple of 32 (isa.json nc_stream_shuffle).
struct NcStreamShuffle {
  View dst, src;
  std::array<int64_t, 32> shuffle_mask{};
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kNcStreamShuffle;

}  // namespace neuron_sim
