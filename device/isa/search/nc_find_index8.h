#pragma once
// nc_find_index8: where 8 values occur in each partition.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[p, j] = first i with data[p, i] == vals[p, j] (as fp32), counted in row-major order over the
/// free dimensions; all ones when there is none. Equal vals find the same element, NaN finds
/// nothing, the zeros are equal. dst: [P, 8] uint16 or uint32; vals: [P, 8] in at most two free
/// dimensions; data has limits.max8_minimum_elements to max8_maximum_elements elements per
/// partition. Vector engine; SBUF or PSUM.
struct NcFindIndex8 {
  View dst, data, vals;

  enum OperandIndex { kDst, kData, kVals };
  static constexpr auto fields() {
    using T = NcFindIndex8;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data).undefined_elements(UndefinedUse::kToRow),
        operand<kVals>("vals", Direction::kRead, &T::vals)
            .undefined_elements(UndefinedUse::kToRow)};
  }
  Draft draft() const;
};

extern const InstructionType kNcFindIndex8;

}  // namespace neuron_sim
