#pragma once

#include "device/instruction/affine_pattern.h"
#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = offset + p * channel_multiplier + i0 * step0 + i1 * step1 + ..., in 32-bit integer
/// arithmetic (wraps), then cast: floats round to nearest even, integers saturate. dst is a [P, F]
/// tile in SBUF of any dtype; `pattern` is [[step0, size0], ...], outermost first, up to four, with
/// as many elements as a partition of dst. p counts from the first partition of dst. Runs on GpSimd
/// (docs/hardware_facts.md#iota).
struct Iota {
  View dst;
  IndexPattern pattern{};
  int64_t offset = 0;
  int64_t channel_multiplier = 0;
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd

  enum OperandIndex { kDst };
  static constexpr auto fields() {
    using T = Iota;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      parameter("pattern", &T::pattern).required(),
                      parameter("offset", &T::offset),
                      parameter("channel_multiplier", &T::channel_multiplier),
                      engine_of(&T::engine),
                      HiddenAttributes{0, AffinePattern::kFields}};
  }
  Draft draft() const;
};
extern const InstructionType kIota;

}  // namespace neuron_sim
