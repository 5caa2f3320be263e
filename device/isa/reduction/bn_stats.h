#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[P, 6] = count, mean and variance * count of the elements of even index of each partition of
/// data, then of those of odd index, on Vector. data: [P, F] in SBUF or PSUM of any dtype with at
/// most limits.bn_stats_elements elements per partition, indexed in row-major order
/// (docs/hardware_facts.md#bn_stats). bn_aggr computes mean and variance from the result.
/// In fp32: mean = sum / count, then the sum of (x - mean)^2, both sums in the order of
/// device/numerics/reduction.h; rounded once to dst. With one element per partition the odd half is
/// 0, 0, 0. NaN and infinity propagate within their half.
struct BnStats {
  static constexpr std::string_view kName = "bn_stats";
  View dst, data;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData };
  static constexpr auto fields() {
    using T = BnStats;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data).undefined_elements(UndefinedUse::kToRow),
        engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kBnStats;

}  // namespace neuron_sim
