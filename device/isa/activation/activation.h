#pragma once
// activation: a function of the Scalar engine with scale, bias and a running sum.

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = op(data * scale + bias) in fp32, rounded once on output; product and sum are rounded
/// separately. data, dst: SBUF or PSUM, any dtype, the same partitions and elements per partition.
///
/// Scale is the constant `scale`, or the [P, 1] fp32 tile `scale_tile`. Bias is the [P, 1] tile
/// `bias_tile` (any dtype but tfloat32) or the constant `bias`; a constant other than 0 needs
/// features.scalar_constant_bias. Without a bias nothing is added.
///
/// `reduce_command` works on the Scalar engine's registers, one fp32 per partition, which draft()
/// adds as an operand where they are changed or read (EngineState::kScalarAccumulator). Each
/// register adds the sum of its partition's fp32 results, before they are rounded to the dtype of
/// dst, in the order of device/numerics/reduction.h. `reduce_res`, [P, 1], gets the registers
/// afterwards. `reduce_op` must be kAdd where something is reduced. kLoadReduce is not supported:
/// there is no initial value (docs/hardware_facts.md#activation).
///
/// Functions, their errors and their limited ranges: device/numerics/activation_functions.h; prelu
/// has no slope here and is refused, reciprocal takes no bias without features.reciprocal_bias.
struct Activate {
  View dst, data;
  Activation op = Activation::kIdentity;
  View bias_tile{}, scale_tile{};
  double scale = 1;
  double bias = 0;
  View reduce_res{};
  AluOp reduce_op = AluOp::kNone;
  ReduceCommand reduce_command = ReduceCommand::kIdle;
  EngineKind engine = EngineKind::kAuto;  ///< Scalar
  enum OperandIndex { kDst, kData, kBias, kScale, kAccumulator, kReduceRes };
  enum AttributeIndex { kOp, kScaleConstant, kBiasConstant, kReduceOp, kReduceCommand };
  static constexpr auto fields() {
    using T = Activate;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        attribute<kOp>("op", &T::op).required(),
        operand<kData>("data", Direction::kRead, &T::data),
        tile_or_number<kBias, kBiasConstant>("bias", &T::bias_tile, "bias", &T::bias),
        tile_or_number<kScale, kScaleConstant>("scale", &T::scale_tile, "scale", &T::scale)
            .number_by_default(),
        optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
        attribute<kReduceOp>("reduce_op", &T::reduce_op),
        attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};

extern const InstructionType kActivation;

}  // namespace neuron_sim
