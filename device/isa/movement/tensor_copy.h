#pragma once

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst = src, cast to dst's dtype. [P, F] tiles in SBUF or PSUM with equal partitions and elements
/// per partition, on Vector, Scalar or GpSimd (SBUF only) (docs/hardware_facts.md#tensor_copy).
/// Equal dtypes copy bits (NaN payloads stay); different dtypes go through fp32 and round once, so
/// int32 beyond 2^24 loses bits between integer types too. Scalar without scalar_tensor_ops
/// (generation 2) always goes through fp32.
struct TensorCopy {
  View dst, src;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc };
  static constexpr auto fields() {
    using T = TensorCopy;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSrc>("src", Direction::kRead, &T::src), engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorCopy;

}  // namespace neuron_sim
