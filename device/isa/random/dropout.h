#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst = 0 where u < prob, else data, bit for bit; u is uniform in [0, 1): the upper 24 bits of the
/// next number of the partition's generator (see rng). The kept elements are not rescaled. data and
/// dst are [P, F] tiles in SBUF or PSUM of one dtype. prob is a constant from 0 to 1 or a [P, 1]
/// tile: fp32 for integer data, any floating dtype otherwise. Values of the tile below 0, and NaN,
/// drop nothing, those from 1 on everything. Vector engine (isa.json dropout).
struct Dropout {
  View dst, data;
  View prob_tile{};  ///< absent: prob
  double prob = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kDropout;

}  // namespace neuron_sim
