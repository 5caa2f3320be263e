#pragma once

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = op((data op0 imm0) op1 imm1), with an optional reduction: the activation of NeuronCore-v4.
/// reverse0 computes imm0 op0 data, reverse1 imm1 op1 (...). Each operation rounds to fp32, the
/// result rounds once more to dst. [P, F] tiles in SBUF or PSUM of any dtypes with equal partitions
/// and elements per partition.
/// (op0, op1) is one of (multiply, add), (multiply, subtract), (multiply, none), (add, none),
/// (subtract, none), (none, none); an immediate is a constant or a [P, 1] tile of any dtype, both
/// tiles of one dtype; that of a missing operator must be absent and 0. `relu_param` is the slope
/// of prelu and must be 0 for other functions. `reduce_command` works on the Scalar engine's
/// registers (device/instruction/scalar_accumulator.h), which draft() adds as an operand; reduce_op
/// is add, maximum, minimum, abs_max or abs_min on the fp32 results before they are rounded to dst.
/// reduce_res, [P, 1], gets the registers afterwards. kLoadReduce is not supported: there is no
/// initial value (docs/hardware_facts.md#activate2).
struct Activate2 {
  View dst;
  Activation op = Activation::kIdentity;
  View data;
  View imm0_tile{}, imm1_tile{};  ///< absent: imm0, imm1
  double imm0 = 0;
  double imm1 = 0;
  AluOp op0 = AluOp::kNone;
  AluOp op1 = AluOp::kNone;
  double relu_param = 0;
  bool reverse0 = false;
  bool reverse1 = false;
  AluOp reduce_op = AluOp::kNone;
  View reduce_res{};
  ReduceCommand reduce_command = ReduceCommand::kIdle;
  EngineKind engine = EngineKind::kAuto;  ///< Scalar

  enum OperandIndex { kDst, kData, kImmediate0, kImmediate1, kAccumulator, kReduceRes };
  enum AttributeIndex {
    kOp,
    kOp0,
    kConstant0,
    kReverse0,
    kOp1,
    kConstant1,
    kReverse1,
    kSlope,
    kReduceOp,
    kReduceCommand,
    kPerStage = kOp1 - kOp0
  };
  static constexpr auto fields() {
    using T = Activate2;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        attribute<kOp>("op", &T::op).required(),
        operand<kData>("data", Direction::kRead, &T::data)
            .undefined_elements(UndefinedUse::kPassedOn),
        tile_or_number<kImmediate0, kConstant0>("imm0", &T::imm0_tile, "imm0", &T::imm0)
            .required_or_none()
            .undefined_elements(UndefinedUse::kPassedOn),
        tile_or_number<kImmediate1, kConstant1>("imm1", &T::imm1_tile, "imm1", &T::imm1)
            .required_or_none()
            .undefined_elements(UndefinedUse::kPassedOn),
        attribute<kOp0>("op0", &T::op0).required(),
        attribute<kOp1>("op1", &T::op1).required(),
        attribute<kSlope>("relu_param", &T::relu_param),
        attribute<kReverse0>("reverse0", &T::reverse0),
        attribute<kReverse1>("reverse1", &T::reverse1),
        attribute<kReduceOp>("reduce_op", &T::reduce_op),
        optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
        attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};
extern const InstructionType kActivate2;

}  // namespace neuron_sim
