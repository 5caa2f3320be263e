#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = 0 where u < prob, else data, bit for bit; u is uniform in [0, 1): the upper 24 bits of the
/// next number of the partition's generator (see rng). The kept elements are not rescaled. data and
/// dst are [P, F] tiles in SBUF or PSUM of one dtype. prob is a constant from 0 to 1 or a [P, 1]
/// tile: fp32 for integer data, any floating dtype otherwise. Values of the tile below 0, and NaN,
/// drop nothing, those from 1 on everything. Vector engine (docs/hardware_facts.md#dropout).
struct Dropout {
  View dst, data;
  View prob_tile{};  ///< absent: prob
  double prob = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData, kProb, kState };
  enum AttributeIndex { kProbConstant };
  static constexpr auto fields() {
    using T = Dropout;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data)
            .undefined_elements(UndefinedUse::kPassedOn),
        tile_or_number<kProb, kProbConstant>("prob", &T::prob_tile, "prob", &T::prob).required(),
        engine_of(&T::engine), hidden_operand<kState>("random_state", Direction::kReadWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kDropout;

}  // namespace neuron_sim
