#pragma once

#include "device/instruction/affine_pattern.h"
#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = on_true_tile where a cmp_op 0, else on_false_value; a = offset + p * channel_multiplier +
/// i0 * step0 + i1 * step1 + ... in 32-bit integer arithmetic (wraps). on_true_tile and dst are
/// [P, F] tiles in SBUF of any dtypes; `pattern` is [[step0, size0], ...], outermost first, up to
/// four, with as many elements as a partition. p counts from the first partition of the tiles.
/// cmp_op is a comparison. Integers between tiles of one dtype are copied exactly; everything else
/// passes through fp32 and rounds once (NaN stays NaN), as the fp32 constant on_false_value does.
/// GpSimd engine (docs/hardware_facts.md#affine_select).
struct AffineSelect {
  View dst;
  IndexPattern pattern{};
  int64_t channel_multiplier = 0;
  View on_true_tile;
  double on_false_value = 0;
  AluOp cmp_op = AluOp::kEqual;
  int64_t offset = 0;
  EngineKind engine = EngineKind::kAuto;  ///< GpSimd

  enum OperandIndex { kDst, kOnTrue };
  enum AttributeIndex { kOnFalse = AffinePattern::kCount, kComparison };
  static constexpr auto fields() {
    using T = AffineSelect;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      parameter("pattern", &T::pattern).required(),
                      parameter("channel_multiplier", &T::channel_multiplier).required(),
                      operand<kOnTrue>("on_true_tile", Direction::kRead, &T::on_true_tile)
                          .undefined_elements(UndefinedUse::kPassedOn),
                      attribute<kOnFalse>("on_false_value", &T::on_false_value).required(),
                      attribute<kComparison>("cmp_op", &T::cmp_op),
                      parameter("offset", &T::offset),
                      engine_of(&T::engine),
                      HiddenAttributes{0, AffinePattern::kFields}};
  }
  Draft draft() const;
};
extern const InstructionType kAffineSelect;

}  // namespace neuron_sim
