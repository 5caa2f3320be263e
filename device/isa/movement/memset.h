#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst = value. A [P, F] tile in SBUF or PSUM of any dtype, on Vector or GpSimd (SBUF only)
/// (isa.json memset). The immediate of a floating dst is an fp32 number, rounded once to dst; an
/// integer dst needs an integer its dtype can hold, bool 0 or 1.
struct Memset {
  View dst;
  double value = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kMemset;

}  // namespace neuron_sim
