#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst = 1 / data, element by element, on Vector. [P, F] tiles in SBUF or PSUM of any dtypes with
/// equal partitions and elements per partition; computed in fp32, rounded once to dst. 1/+-0 is
/// +-inf, NaN stays NaN (isa.json reciprocal).
struct Reciprocal {
  View dst, data;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kReciprocal;

}  // namespace neuron_sim
