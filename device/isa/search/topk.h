#pragma once
// topk: the K largest of many values, with their places.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// val_dst, idx_dst = the K largest of the first n elements of src and their indices, in ascending
/// order, for every 16 partitions that one GpSimd core serves. Elements and results run over the
/// 16 partitions like a snake: number j lies in partition j % 16, column j / 16 (free dimensions
/// flattened). K is the number of elements per partition of val_dst and idx_dst; only the first
/// ceil(K / 16) columns are written, the others keep their values.
///
/// Of equal values the lower index counts as the larger one; NaN counts as smaller than everything,
/// as for max8 (the vendor documents neither). src and val_dst are bfloat16, idx_dst is uint32; the
/// partitions are a multiple of limits.gpsimd_core_partitions, the same for all. n is
/// limits.topk_minimum_elements to topk_maximum_elements and fits into src; K is at most n and
/// limits.topk_results. GpSimd; SBUF.
struct Topk {
  View val_dst, idx_dst, src;
  int64_t n = 0;

  enum OperandIndex { kValDst, kIdxDst, kSrc };
  enum AttributeIndex { kN };
  static constexpr auto fields() {
    using T = Topk;
    return std::tuple{operand<kValDst>("val_dst", Direction::kReadWrite, &T::val_dst),
                      operand<kIdxDst>("idx_dst", Direction::kReadWrite, &T::idx_dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      attribute<kN>("n", &T::n).required()};
  }
  Draft draft() const;
};

extern const InstructionType kTopk;

}  // namespace neuron_sim
