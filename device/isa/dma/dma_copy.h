#pragma once
// dma_copy: a transfer between HBM and SBUF, or within either, by the 16 DMA engines.

#include <optional>

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = src, element by element in row-major order. The element counts are equal; shapes and
/// strides are free on both sides (dimension 0 of an SBUF side is the partition). Equal dtypes are
/// copied bit by bit, others are cast through fp32. PSUM is not accessible.
///
/// `index`, [P, 1] int32 or uint32 in SBUF, gathers or scatters rows: exactly one side is an
/// indirect HBM view with P rows, and its row p is row index[p] of the tensor. The executor
/// resolves the index into Access::rows; with `oob_skip` a row out of range becomes -1 and is
/// skipped (a gather keeps the old bytes of dst), without it the executor raises IndexError.
/// Scattering two rows to one place keeps the later one.
///
/// `descriptors`: empty chooses software for an index, a cast or the GpSimd engine, hardware where
/// features.hardware_descriptors and the engine is Sync or Scalar, else static. Hardware
/// descriptors cannot cast or follow an index. `engine` triggers the transfer: GpSimd for software
/// descriptors, Sync or Scalar for hardware ones, any engine for static ones (which hold no
/// register address). Packed dtypes are copied, not cast.
///
/// `dst_rmw_add` (dst_rmw_op of the older API): dst = dst + src in fp32, rounded once to dst, at
/// dma.compute of the throughput of a copy; not with hardware descriptors. A scatter that adds to
/// one row twice is a KernelError with `unique_indices`; without it rows are added in order.
/// `priority`: 0 (highest) to 3 where features.dma_priority, not with static descriptors; it does
/// not change the simulated time.
struct DmaCopy {
  View dst, src;
  View index{};
  std::optional<DescriptorKind> descriptors{};
  bool oob_skip = false;
  EngineKind engine = EngineKind::kAuto;
  bool dst_rmw_add = false;
  bool unique_indices = true;
  std::optional<int64_t> priority{};

  enum OperandIndex { kDst, kSrc, kIndex };
  enum AttributeIndex { kDescriptors, kOobSkip, kAdd, kUniqueIndices, kPriority };
  static constexpr auto fields() {
    using T = DmaCopy;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst, kAdd),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      optional_operand<kIndex>("index", Direction::kRead, &T::index),
                      engine_of(&T::engine),
                      attribute<kDescriptors>("descriptors", &T::descriptors),
                      attribute<kAdd>("dst_rmw_add", &T::dst_rmw_add),
                      out_of_bounds_mode<kOobSkip>(&T::oob_skip),
                      attribute<kUniqueIndices>("unique_indices", &T::unique_indices),
                      attribute<kPriority>("priority", &T::priority)};
  }
  Draft draft() const;
};

extern const InstructionType kDmaCopy;

}  // namespace neuron_sim
