#pragma once

#include "device/instruction/instruction_type.h"

namespace neuron_sim {

/// dst[P, 6] = count, mean and variance * count of the elements of even index of each partition of
/// data, then of those of odd index, on Vector. data: [P, F] in SBUF or PSUM of any dtype with at
/// most limits.bn_stats_elements elements per partition, indexed in row-major order (isa.json
/// bn_stats). bn_aggr makes mean and variance of the result.
/// In fp32: mean = sum / count, then the sum of (x - mean)^2, both sums in the order of
/// device/numerics/reduction.h; rounded once to dst. With one element per partition the odd half is
/// 0, 0, 0. NaN and infinity reach the half they are in.
struct BnStats {
  View dst, data;
  EngineKind engine = EngineKind::kAuto;  ///< Vector
  Draft draft() const;
};
extern const InstructionType kBnStats;

}  // namespace neuron_sim
