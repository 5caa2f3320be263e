#pragma once
// nonzero_with_count: the places of the non-zero elements, and how many there are.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[p] = [i + index_offset for each i with src[p, i] != 0, padding_val ..., their count], for
/// the first partition p of every GpSimd core (0, 16, ..., 112); the other partitions of dst keep
/// what they held. src: [P, T] fp32 or int32 (NaN is not zero); dst: [P, T + 1] int32, indices
/// modulo 2^32; index_offset and padding_val are int32. GpSimd; SBUF; NeuronCore-v3 and newer.
struct NonzeroWithCount {
  View dst, src;
  int64_t index_offset = 0;
  int64_t padding_val = -1;

  enum OperandIndex { kDst, kSrc };
  enum AttributeIndex { kIndexOffset, kPaddingVal };
  static constexpr auto fields() {
    using T = NonzeroWithCount;
    return std::tuple{operand<kDst>("dst", Direction::kReadWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      attribute<kIndexOffset>("index_offset", &T::index_offset),
                      attribute<kPaddingVal>("padding_val", &T::padding_val)};
  }
  Draft draft() const;
};

extern const InstructionType kNonzeroWithCount;

}  // namespace neuron_sim
