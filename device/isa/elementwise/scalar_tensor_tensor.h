#pragma once

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = (data op0 operand0) op1 operand1, element by element, with a whole tile as operand1, on
/// Vector; reverse0 computes operand0 op0 data, reverse1 operand1 op1 (...). [P, F] tiles in SBUF
/// or PSUM with equal partitions and elements per partition, data and operand1 not both in PSUM;
/// operand0 is a [P, 1] tile of a floating dtype, or constant0 when its view is absent
/// (docs/hardware_facts.md#scalar_tensor_tensor). dst may be data or operand1.
/// Arithmetic operators of the Vector engine, op0 also unary ones (without operand0), op1 on two
/// operands. Any dtypes: every operation rounds to fp32, the result rounds once more to dst.
struct ScalarTensorTensor {
  View dst, data;
  View operand0{};  ///< absent: constant0
  View operand1{};
  AluOp op0 = AluOp::kAdd;
  double constant0 = 0;
  bool reverse0 = false;
  AluOp op1 = AluOp::kAdd;
  bool reverse1 = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData, kOperand0, kOperand1 };
  enum AttributeIndex { kOp0, kConstant0, kReverse0, kOp1, kReverse1 };
  static constexpr auto fields() {
    using T = ScalarTensorTensor;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data),
        attribute<kOp0>("op0", &T::op0).required(),
        tile_or_number<kOperand0, kConstant0>("operand0", &T::operand0, "constant0", &T::constant0)
            .required_or_none(),
        attribute<kOp1>("op1", &T::op1).required(),
        operand<kOperand1>("operand1", Direction::kRead, &T::operand1),
        attribute<kReverse0>("reverse0", &T::reverse0),
        attribute<kReverse1>("reverse1", &T::reverse1),
        engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kScalarTensorTensor;

}  // namespace neuron_sim
