#pragma once
// dma_transpose: a transfer into SBUF that exchanges the first and the last dimension on the way.

#include <optional>
#include <vector>

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = transpose(src, axes) by the DMA engines, bit by bit: (1, 0) of a 2-D tile, (2, 1, 0) of a
/// 3-D one, (3, 1, 2, 0) of a 4-D one.
///
/// src: HBM or SBUF; dst: SBUF, of the same dtype, rank and (permuted) shape; any dtype. Dimension
/// 0 of an SBUF side is the partition. `axes`: empty, or the permutation of the rank.
///
/// `index`, uint32 in SBUF, gathers rows on the way (features.dma_transpose): src is an indirect
/// HBM view of 2-byte elements, row p of it is row index.T.flatten()[p] of the tensor; with
/// `oob_skip` a row out of range leaves its column of dst unchanged, without it the executor raises
/// IndexError. index is [16..128, 1] with a multiple of 16 partitions, or [128, N]; src has a
/// multiple of 16 rows, at most as many as there are indices, and rows of at most 128 elements in
/// the last dimension; a 4-D src has one more dimension of size 1.
///
/// `descriptors`: software for an index, and only then; hardware where
/// features.hardware_descriptors for 2-byte elements, src.shape[-1] <= 128, and src.shape[0] 16
/// (2-D), or 1, 2, 4, 8 or 16 with src.shape[0] * src.shape[-2] a multiple of 16 (3-D, 4-D); static
/// for everything else. Empty takes hardware when it can. `priority`: 0 (highest) to 3 where
/// features.dma_priority; it does not change the simulated time.
///
/// Time: as the copy that writes the same dst, at dma.transpose_hbm (dma.transpose_sbuf) of its
/// throughput; partitions count in multiples of 128 and the last dimension in multiples of 16,
/// which the 16 engines write together (trainium2_arch.rst, "DMA Transpose": documented as needed
/// for the best throughput, assumed to be the only cost). 1-byte elements, and all elements without
/// features.dma_transpose (generation 2), are moved one by one.
struct DmaTranspose {
  View dst, src;
  View index{};
  std::vector<int> axes{};
  std::optional<DescriptorKind> descriptors{};
  bool oob_skip = false;
  std::optional<int64_t> priority{};
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kDst, kSrc, kIndex };
  enum AttributeIndex { kAxes, kDescriptors, kOobSkip, kPriority };
  static constexpr auto fields() {
    using T = DmaTranspose;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      parameter("axes", &T::axes),
                      engine_of(&T::engine),
                      attribute<kDescriptors>("descriptors", &T::descriptors),
                      optional_operand<kIndex>("index", Direction::kRead, &T::index),
                      out_of_bounds_mode<kOobSkip>(&T::oob_skip),
                      attribute<kPriority>("priority", &T::priority),
                      hidden_attribute<kAxes>("axes", AttributeKind::kInteger)};
  }
  Draft draft() const;
};

extern const InstructionType kDmaTranspose;

}  // namespace neuron_sim
