#pragma once
// nc_match_replace8: takes 8 values out of each partition.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = data with the first match of each of the 8 vals of its partition replaced by imm;
/// dst_idx[p, j] = where vals[p, j] was found. Matches compare as fp32, in row-major order over the
/// free dimensions of data as it was read: a replaced element matches nothing again, NaN matches
/// nothing, the zeros are equal. Equal vals take successive matches, the last of them the first
/// match (docs/hardware_facts.md#nc_match_replace8). Where nothing matches, dst_idx is all ones
/// (the vendor leaves it undefined).
///
/// data and dst: the same shape, at most limits.max8_maximum_elements per partition, each value
/// rounded to the dtype of dst; vals and dst_idx (optional, uint16 or uint32): 8 per partition,
/// vals in at most two free dimensions. imm is fp32. Vector engine; SBUF or PSUM.
struct NcMatchReplace8 {
  View dst, data, vals;
  double imm = 0;
  View dst_idx{};

  enum OperandIndex { kDst, kData, kVals, kDstIdx };
  enum AttributeIndex { kImm };
  static constexpr auto fields() {
    using T = NcMatchReplace8;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data).undefined_elements(UndefinedUse::kToRow),
        operand<kVals>("vals", Direction::kRead, &T::vals).undefined_elements(UndefinedUse::kToRow),
        attribute<kImm>("imm", &T::imm).required(),
        optional_operand<kDstIdx>("dst_idx", Direction::kWrite, &T::dst_idx)};
  }
  Draft draft() const;
};

extern const InstructionType kNcMatchReplace8;

}  // namespace neuron_sim
