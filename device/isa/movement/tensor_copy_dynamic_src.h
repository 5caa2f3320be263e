#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = src[:, offset : offset + size], cast to dst's dtype, where offset is read from memory and
/// size is that of dst's first free dimension. src is the whole [P, F, ...] region that offset may
/// point into, dst [P, size, ...] with the same further dimensions, in SBUF or PSUM, on Vector,
/// Scalar or GpSimd (SBUF only); offset is one int32 or uint32 in SBUF
/// (docs/hardware_facts.md#tensor_copy_dynamic_src). Dtypes as tensor_copy. An offset outside the
/// region is a KernelError (kIndex) when the program runs.
struct TensorCopyDynamicSrc {
  static constexpr std::string_view kName = "tensor_copy_dynamic_src";
  View dst, src, offset;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc, kOffset };
  static constexpr auto fields() {
    using T = TensorCopyDynamicSrc;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      operand<kOffset>("offset", Direction::kRead, &T::offset),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorCopyDynamicSrc;

}  // namespace neuron_sim
