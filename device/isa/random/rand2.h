#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = min + u (max - min), u uniform in [0, 1): the upper 24 bits of the next number of the
/// partition's generator (see rng). Difference, product and sum round to fp32, so that max itself
/// can occur; the result rounds once more to dst (integers: to nearest even). min and max are
/// constants or [P, 1] fp32 tiles; constants need min < max. A NaN or infinity in them reaches dst
/// as in the formula. dst is a [P, F] tile in SBUF or PSUM of any dtype but bool. Vector engine of
/// NeuronCore-v4 (docs/hardware_facts.md#rand2).
struct Rand2 {
  View dst;
  View min_tile{}, max_tile{};  ///< absent: min, max
  double min = 0;
  double max = 1;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kMinTile, kMaxTile, kState };
  enum AttributeIndex { kMin, kMax };
  static constexpr auto fields() {
    using T = Rand2;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        tile_or_number<kMinTile, kMin>("min", &T::min_tile, "min", &T::min).required(),
        tile_or_number<kMaxTile, kMax>("max", &T::max_tile, "max", &T::max).required(),
        engine_of(&T::engine), hidden_operand<kState>("random_state", Direction::kReadWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kRand2;

}  // namespace neuron_sim
