#pragma once

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = data1 op data2, element by element. [P, F] tiles in SBUF or PSUM with equal partitions and
/// elements per partition; the inputs not both in PSUM; dst may be an input
/// (docs/hardware_facts.md#tensor_tensor).
/// Any dtypes: computed in fp32, rounded once to dst. On GpSimd with all operands int32 or uint32
/// the result is exact modulo 2^32 (but divide and power, which stay in fp32). Bitwise operators
/// need integer dtypes of one size and run on Vector; power runs on GpSimd, which has no PSUM.
/// Comparisons give 1 or 0; maximum and minimum give NaN when either input is NaN.
struct TensorTensor {
  View dst, data1, data2;
  AluOp op = AluOp::kAdd;
  EngineKind engine = EngineKind::kAuto;  ///< Vector; GpSimd for power and int32/uint32 in SBUF

  enum OperandIndex { kDst, kData1, kData2 };
  enum AttributeIndex { kOp };
  static constexpr auto fields() {
    using T = TensorTensor;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData1>("data1", Direction::kRead, &T::data1),
                      operand<kData2>("data2", Direction::kRead, &T::data2),
                      attribute<kOp>("op", &T::op).required(), engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorTensor;

}  // namespace neuron_sim
