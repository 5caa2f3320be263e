#pragma once

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = (data op0 operand0) op1 operand1, element by element, with a whole tile as operand1, on
/// Vector; reverse0 computes operand0 op0 data, reverse1 operand1 op1 (...). [P, F] tiles in SBUF
/// or PSUM with equal partitions and elements per partition, data and operand1 not both in PSUM;
/// operand0 is a [P, 1] fp32 tile, or constant0 when its view is absent (isa.json
/// scalar_tensor_tensor). dst may be data or operand1.
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
  Draft draft() const;
};
extern const InstructionType kScalarTensorTensor;

}  // namespace neuron_sim
