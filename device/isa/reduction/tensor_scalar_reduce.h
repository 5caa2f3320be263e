#pragma once

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = data op0 operand0, and reduce_res = reduce_op over all elements of a partition, on Vector;
/// reverse0 computes operand0 op0 data. [P, F] tiles in SBUF or PSUM with equal partitions and
/// elements per partition; operand0 is a [P, 1] fp32 tile, or constant0 when its view is absent,
/// neither for a unary operator (docs/hardware_facts.md#tensor_scalar_reduce). op0: arithmetic
/// operators of
/// the Vector engine; reduce_op: add, subtract, multiply, maximum, minimum.
///
/// The fp32 results, before they are rounded to dst, are reduced in the order of
/// device/numerics/reduction.h into the accumulator registers of the engine (see Accumulation in
/// device/instruction/vector_accumulator.h): kResetReduce, kReduce on top of what earlier
/// instructions left, kLoadReduce on top of reduce_init, a [P, 1] fp32 tile, or constant_init.
/// reduce_res, [P, 1], gets the registers, times -1 with reduce_res_negate, rounded once.
struct TensorScalarReduce {
  View dst, data;
  View operand0{};  ///< absent: constant0
  View reduce_res{};
  View reduce_init{};  ///< absent: constant_init
  AluOp op0 = AluOp::kAdd;
  double constant0 = 0;
  bool reverse0 = false;
  AluOp reduce_op = AluOp::kAdd;
  ReduceCommand reduce_command = ReduceCommand::kResetReduce;
  double constant_init = 0;
  bool reduce_res_negate = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kData, kOperand0, kReduceInit, kAccumulator, kReduceRes };
  enum AttributeIndex {
    kOp0,
    kConstant0,
    kReverse0,
    kReduceOp,
    kReduceCommand,
    kConstantInit,
    kNegate
  };
  static constexpr auto fields() {
    using T = TensorScalarReduce;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        operand<kData>("data", Direction::kRead, &T::data)
            .undefined_elements(UndefinedUse::kPassedOn),
        attribute<kOp0>("op0", &T::op0).required(),
        tile_or_number<kOperand0, kConstant0>("operand0", &T::operand0, "constant0", &T::constant0)
            .required_or_none()
            .undefined_elements(UndefinedUse::kPassedOn),
        attribute<kReduceOp>("reduce_op", &T::reduce_op).required(),
        optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
        attribute<kReverse0>("reverse0", &T::reverse0),
        attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
        tile_or_number<kReduceInit, kConstantInit>("reduce_init", &T::reduce_init, "constant_init",
                                                   &T::constant_init),
        attribute<kNegate>("reduce_res_negate", &T::reduce_res_negate),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};
extern const InstructionType kTensorScalarReduce;

}  // namespace neuron_sim
