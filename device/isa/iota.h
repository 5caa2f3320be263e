#pragma once

#include <array>

#include "device/isa/instruction_type.h"

namespace neuron_sim {

/// dst[p, i0, i1, ...] = offset + p * channel_multiplier + i0 * steps[0] + i1 * steps[1] + ...
/// in 32-bit integer arithmetic (wraps), then cast: floats round to nearest even, integers
/// saturate. dst is a [P, F...] tile in SBUF of any dtype; its free dimensions (up to 4) are the
/// pattern, outermost first, and steps of dimensions it does not have must be 0. p counts from the
/// first partition of dst. Runs on GpSimd (isa.json iota).
struct Iota {
  View dst;
  int64_t offset = 0;
  int64_t channel_multiplier = 0;
  std::array<int64_t, kMaximumFreeDimensions> steps{};
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd
  Draft draft() const;
};
extern const InstructionType kIota;

}  // namespace neuron_sim
