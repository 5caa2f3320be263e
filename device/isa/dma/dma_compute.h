#pragma once
// dma_compute: a sum that the DMA engines form while they move the data.

#include <optional>
#include <vector>

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = srcs[0] + srcs[1] + ... by the DMA engines, in fp32, rounded once to dst.
///
/// One to sixteen sources in HBM or SBUF of the element count of dst (row-major order, shapes and
/// strides free), any dtypes but packed ones; the additions run from the first source to the last.
/// `reduce_op` must be add, `scales` empty or one 1.0 per source.
///
/// `index`, [P, 1] int32 or uint32 in SBUF: read-modify-write of indexed rows with exactly two
/// sources. Scatter: dst is an indirect HBM view, one source is the same view, the other is in
/// SBUF. Gather: dst is in SBUF, one source is the same view, the other is an indirect HBM view.
/// All have P rows. A row of a scatter that occurs twice is a KernelError (`unique_indices` must be
/// true); with `oob_skip` a row out of range is skipped, without it the executor raises IndexError.
///
/// Software descriptors (engine GpSimd) for an index, else static ones (any engine); every source
/// is read at the throughput of a copy, so that a sum of two takes as long as two copies.
struct DmaCompute {
  View dst;
  std::vector<View> srcs;
  AluOp reduce_op = AluOp::kAdd;
  std::vector<double> scales{};
  bool unique_indices = true;
  bool oob_skip = false;
  View index{};
  EngineKind engine = EngineKind::kAuto;

  /// Only the first source must be given.
  static constexpr OperandField kSourceFields[] = {
      {"src0", Direction::kRead},        {"src1", Direction::kRead, true},
      {"src2", Direction::kRead, true},  {"src3", Direction::kRead, true},
      {"src4", Direction::kRead, true},  {"src5", Direction::kRead, true},
      {"src6", Direction::kRead, true},  {"src7", Direction::kRead, true},
      {"src8", Direction::kRead, true},  {"src9", Direction::kRead, true},
      {"src10", Direction::kRead, true}, {"src11", Direction::kRead, true},
      {"src12", Direction::kRead, true}, {"src13", Direction::kRead, true},
      {"src14", Direction::kRead, true}, {"src15", Direction::kRead, true}};
  enum OperandIndex { kDst, kSources, kIndex = kSources + 16 };
  enum AttributeIndex { kReduceOp, kScale, kUniqueIndices, kOobSkip };
  static constexpr auto fields() {
    using T = DmaCompute;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      parameter("srcs", &T::srcs).required(),
                      attribute<kReduceOp>("reduce_op", &T::reduce_op),
                      parameter("scales", &T::scales),
                      engine_of(&T::engine),
                      attribute<kUniqueIndices>("unique_indices", &T::unique_indices),
                      out_of_bounds_mode<kOobSkip>(&T::oob_skip),
                      optional_operand<kIndex>("index", Direction::kRead, &T::index),
                      HiddenOperands{kSources, kSourceFields, UndefinedUse::kPassedOn},
                      hidden_attribute<kScale>("scale", AttributeKind::kReal)};
  }
  Draft draft() const;
};

extern const InstructionType kDmaCompute;

}  // namespace neuron_sim
