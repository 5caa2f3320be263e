#pragma once
// max8: the 8 largest values of each partition.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[P, 8] = the 8 largest elements of each partition of src, largest first, compared in fp32 and
/// rounded to the dtype of dst. src has limits.max8_minimum_elements to max8_maximum_elements
/// elements per partition. Equal values stay in the order of src (seen only as the sign of zero).
/// NaN counts as smaller than everything, so that it appears only when fewer than 8 numbers exist
/// (the vendor does not say). Vector engine; SBUF or PSUM.
struct Max8 {
  View dst, src;

  enum OperandIndex { kDst, kSrc };
  static constexpr auto fields() {
    using T = Max8;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kSrc>("src", Direction::kRead, &T::src).undefined_elements(UndefinedUse::kToRow)};
  }
  Draft draft() const;
};

extern const InstructionType kMax8;

}  // namespace neuron_sim
