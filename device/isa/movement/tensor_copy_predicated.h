#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = src where predicate is not zero, else dst stays, element by element, on Vector;
/// reverse_pred exchanges the two. [P, F] tiles in SBUF or PSUM with equal partitions and elements
/// per partition, src and predicate not both in PSUM; src is a tile of dst's dtype, whose bits are
/// copied, or the constant when its view is absent (rounded to dst; an integer dst must be able to
/// hold it). predicate is uint8, uint16 or uint32 (docs/hardware_facts.md#tensor_copy_predicated).
struct TensorCopyPredicated {
  View dst;
  View src{};  ///< absent: constant
  View predicate{};
  double constant = 0;
  bool reverse_pred = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc, kPredicate };
  enum AttributeIndex { kConstant, kReverse };
  static constexpr auto fields() {
    using T = TensorCopyPredicated;
    return std::tuple{operand<kDst>("dst", Direction::kReadWrite, &T::dst),
                      tile_or_number<kSrc, kConstant>("src", &T::src, "constant", &T::constant)
                          .required()
                          .undefined_elements(UndefinedUse::kPassedOn),
                      operand<kPredicate>("predicate", Direction::kRead, &T::predicate),
                      attribute<kReverse>("reverse_pred", &T::reverse_pred), engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorCopyPredicated;

}  // namespace neuron_sim
