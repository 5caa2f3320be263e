#pragma once

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst_i = (data0_i op0 dst_(i-1)) op1 data1_i along each partition, starting from `initial`, on
/// Vector; reverse0 computes dst_(i-1) op0 data0_i, reverse1 data1_i op1 (...). [P, F] tiles in
/// SBUF or PSUM with equal partitions and elements per partition, walked in row-major order, data0
/// and data1 not both in PSUM; initial is a [P, 1] tile of any dtype, or the fp32 constant when its
/// view is absent (docs/hardware_facts.md#tensor_tensor_scan). dst may be data0 or data1.
/// Arithmetic operators of the Vector engine on two operands. Any dtypes: every operation rounds to
/// fp32, the value carried from element to element is the fp32 one, dst gets it rounded once.
struct TensorTensorScan {
  View dst, data0, data1;
  View initial{};  ///< absent: constant_initial
  double constant_initial = 0;
  AluOp op0 = AluOp::kMultiply;
  AluOp op1 = AluOp::kAdd;
  bool reverse0 = false;
  bool reverse1 = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData0, kData1, kInitial };
  enum AttributeIndex { kConstant, kOp0, kOp1, kReverse0, kReverse1 };
  static constexpr auto fields() {
    using T = TensorTensorScan;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData0>("data0", Direction::kRead, &T::data0)
                          .undefined_elements(UndefinedUse::kToRow),
                      operand<kData1>("data1", Direction::kRead, &T::data1)
                          .undefined_elements(UndefinedUse::kToRow),
                      tile_or_number<kInitial, kConstant>("initial", &T::initial,
                                                          "constant_initial", &T::constant_initial)
                          .number_by_default()
                          .undefined_elements(UndefinedUse::kToRow),
                      attribute<kOp0>("op0", &T::op0),
                      attribute<kOp1>("op1", &T::op1),
                      engine_of(&T::engine),
                      attribute<kReverse0>("reverse0", &T::reverse0),
                      attribute<kReverse1>("reverse1", &T::reverse1)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorTensorScan;

}  // namespace neuron_sim
