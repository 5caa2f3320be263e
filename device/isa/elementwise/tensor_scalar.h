#pragma once

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = (data op0 operand0) op1 operand1, element by element; reverse0 computes operand0 op0 data,
/// reverse1 operand1 op1 (...). [P, F] tiles in SBUF or PSUM with equal partitions and elements per
/// partition; an operand is a [P, 1] fp32 tile, or the constant when its view is absent
/// (docs/hardware_facts.md#tensor_scalar).
/// Unary operators (abs, square, relu, rsqrt, reciprocal, logical_not, invert) take no operand.
/// Any dtypes: every operation rounds to fp32, the result rounds once more to dst. Bitwise
/// operators (both or neither) work on integers of one size, with integer operands.
/// Engines: Vector for all but power and rsqrt. Scalar, if the architecture has scalar_tensor_ops,
/// for (multiply), (add) and (multiply, add), with scalar_unary_operators also for abs, rsqrt and
/// reciprocal and in any pair. GpSimd for add, subtract, multiply, power and rsqrt, where
/// int32/uint32 data, dst and integer operands are exact modulo 2^32 (except power and rsqrt); the
/// vendor's operator table is followed, its engine parameter names rsqrt only.
struct TensorScalar {
  View dst, data;
  View operand0{}, operand1{};  ///< absent: constant0, constant1
  AluOp op0 = AluOp::kAdd;
  double constant0 = 0;
  bool reverse0 = false;
  AluOp op1 = AluOp::kNone;
  double constant1 = 0;
  bool reverse1 = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector, else Scalar, else GpSimd

  enum OperandIndex { kDst, kData, kOperand0, kOperand1 };
  enum AttributeIndex {
    kOp0,
    kConstant0,
    kReverse0,
    kOp1,
    kConstant1,
    kReverse1,
    kPerStage = kOp1
  };
  static constexpr auto fields() {
    using T = TensorScalar;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data),
        attribute<kOp0>("op0", &T::op0).required(),
        tile_or_number<kOperand0, kConstant0>("operand0", &T::operand0, "constant0", &T::constant0),
        attribute<kReverse0>("reverse0", &T::reverse0),
        attribute<kOp1>("op1", &T::op1),
        tile_or_number<kOperand1, kConstant1>("operand1", &T::operand1, "constant1", &T::constant1),
        attribute<kReverse1>("reverse1", &T::reverse1),
        engine_of(&T::engine)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorScalar;

}  // namespace neuron_sim
