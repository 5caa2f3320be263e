#pragma once

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = (data op0 operand0) op1 operand1, element by element; reverse0 computes operand0 op0 data,
/// reverse1 operand1 op1 (...). [P, F] tiles in SBUF or PSUM with equal partitions and elements per
/// partition; an operand is a [P, 1] fp32 tile, or the constant when its view is absent
/// (isa.json tensor_scalar).
/// Unary operators (abs, square, relu, rsqrt, reciprocal, logical_not, invert) take no operand.
/// Any dtypes: every operation rounds to fp32, the result rounds once more to dst. Bitwise
/// operators (both or neither) work on integers of one size, with integer operands.
/// Engines: Vector for all but power and rsqrt. Scalar, if the architecture has scalar_tensor_ops,
/// for (multiply), (add) and (multiply, add), with scalar_unary_operators also for abs, rsqrt and
/// reciprocal and in any pair. GpSimd for add, subtract, multiply, power and rsqrt, where
/// int32/uint32 data, dst and integer operands are exact modulo 2^32 (but for power and rsqrt); the
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
  Draft draft() const;
};
extern const InstructionType kTensorScalar;

}  // namespace neuron_sim
