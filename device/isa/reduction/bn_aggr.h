#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[P, 2] = mean and variance of each partition, out of the (count, mean, variance * count)
/// triples of data, as bn_stats writes them, on Vector. data: [P, 3 n] in SBUF or PSUM of any dtype
/// (docs/hardware_facts.md#bn_aggr); the variance divides by the whole count.
/// In fp32, triples in order: mean = sum(count * mean) / sum(count), then the sum of
/// variance * count + count * (mean - total mean)^2; rounded once to dst. A total count of 0 gives
/// NaN.
struct BnAggr {
  static constexpr std::string_view kName = "bn_aggr";
  View dst, data;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData };
  static constexpr auto fields() {
    using T = BnAggr;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data).undefined_elements(UndefinedUse::kToRow),
        engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kBnAggr;

}  // namespace neuron_sim
