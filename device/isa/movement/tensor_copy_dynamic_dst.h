#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[:, offset : offset + size] = src, cast to dst's dtype, where offset is read from memory and
/// size is that of src's first free dimension. dst is the whole [P, F, ...] region that offset may
/// point into (its other elements stay), src [P, size, ...] with the same further dimensions, in
/// SBUF or PSUM, on Vector, Scalar or GpSimd (SBUF only); offset is one int32 or uint32 in SBUF
/// (docs/hardware_facts.md#tensor_copy_dynamic_dst). Dtypes as tensor_copy. An offset outside the
/// region is a KernelError (kIndex) when the program runs, and nothing is written.
struct TensorCopyDynamicDst {
  static constexpr std::string_view kName = "tensor_copy_dynamic_dst";
  View dst, src, offset;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc, kOffset };
  static constexpr auto fields() {
    using T = TensorCopyDynamicDst;
    return std::tuple{operand<kDst>("dst", Direction::kReadWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src),
                      operand<kOffset>("offset", Direction::kRead, &T::offset),
                      engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorCopyDynamicDst;

}  // namespace neuron_sim
