#pragma once

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst_i = (src_i op0 imm0) op1 dst_(i-1), the running reduction of a partition, on Vector. [P, F]
/// tiles in SBUF or PSUM with equal partitions and elements per partition, walked in row-major
/// order; bool, tfloat32, int32 and uint32 are not supported
/// (docs/hardware_facts.md#tensor_scalar_cumulative).
/// imm0 is a [P, 1] fp32 tile, or constant0 when its view is absent. op0: arithmetic operators of
/// the Vector engine; op1: add, subtract (new value - running value), multiply, maximum, minimum.
///
/// The running value lives in the accumulator register of the partition, in fp32; dst gets it
/// rounded once. It starts from reduction_identity(op1) with kResetReduce, from what an earlier
/// instruction left with kReduce, from imm1 (a [P, 1] fp32 tile, or constant1) with kLoadReduce,
/// and stays in the register.
struct TensorScalarCumulative {
  View dst, src;
  View imm0{};  ///< absent: constant0
  View imm1{};  ///< absent: constant1
  AluOp op0 = AluOp::kAdd;
  AluOp op1 = AluOp::kAdd;
  double constant0 = 0;
  double constant1 = 0;
  ReduceCommand reduce_command = ReduceCommand::kResetReduce;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kSrc, kImm0, kImm1, kAccumulator };
  enum AttributeIndex { kOp0, kOp1, kConstant0, kConstant1, kReduceCommand };
  static constexpr auto fields() {
    using T = TensorScalarCumulative;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kSrc>("src", Direction::kRead, &T::src),
        attribute<kOp0>("op0", &T::op0).required(),
        attribute<kOp1>("op1", &T::op1).required(),
        tile_or_number<kImm0, kConstant0>("imm0", &T::imm0, "constant0", &T::constant0)
            .required_or_none(),
        tile_or_number<kImm1, kConstant1>("imm1", &T::imm1, "constant1", &T::constant1),
        attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorScalarCumulative;

}  // namespace neuron_sim
