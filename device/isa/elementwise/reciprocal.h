#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = 1 / data, element by element, on Vector. [P, F] tiles in SBUF or PSUM of any dtypes with
/// equal partitions and elements per partition; computed in fp32, rounded once to dst. 1/+-0 is
/// +-inf, NaN stays NaN (docs/hardware_facts.md#reciprocal).
struct Reciprocal {
  View dst, data;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData };
  static constexpr auto fields() {
    using T = Reciprocal;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData>("data", Direction::kRead, &T::data), engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kReciprocal;

}  // namespace neuron_sim
