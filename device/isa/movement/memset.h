#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = value. A [P, F] tile in SBUF or PSUM of any dtype, on Vector or GpSimd (SBUF only)
/// (docs/hardware_facts.md#memset). The immediate of a floating dst is an fp32 number, rounded once
/// to dst; an
/// integer dst needs an integer its dtype can hold, bool 0 or 1.
struct Memset {
  View dst;
  double value = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst };
  enum AttributeIndex { kValue };
  static constexpr auto fields() {
    using T = Memset;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      attribute<kValue>("value", &T::value).required(), engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kMemset;

}  // namespace neuron_sim
