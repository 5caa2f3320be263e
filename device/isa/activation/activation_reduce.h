#pragma once

#include "device/instruction/fields.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = op(data * scale + bias), reduce_res = the sum of each partition's results: activation
/// (device/isa/activation/activation.h, which says everything else) with reduce_cmd 'reset_reduce'
/// and a reduce_res. The Scalar engine's reduction registers hold the sums afterwards. reduce_op
/// must be kAdd. reduce_res is [P, 1] in SBUF or PSUM, of any dtype
/// (docs/hardware_facts.md#activation_reduce).
struct ActivationReduce {
  View dst, data;
  Activation op = Activation::kIdentity;
  AluOp reduce_op = AluOp::kAdd;
  View reduce_res;
  View bias_tile{}, scale_tile{};  ///< [P, 1]; absent: bias, scale
  double scale = 1;
  double bias = 0;
  EngineKind engine = EngineKind::kAuto;  ///< Scalar
  enum OperandIndex { kDst, kData, kBias, kScale, kAccumulator, kReduceRes };
  enum AttributeIndex { kOp, kScaleConstant, kBiasConstant, kReduceOp };
  static constexpr auto fields() {
    using T = ActivationReduce;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst),
        attribute<kOp>("op", &T::op).required(),
        operand<kData>("data", Direction::kRead, &T::data)
            .undefined_elements(UndefinedUse::kPassedOn),
        attribute<kReduceOp>("reduce_op", &T::reduce_op).required(),
        operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
        tile_or_number<kBias, kBiasConstant>("bias", &T::bias_tile, "bias", &T::bias)
            .undefined_elements(UndefinedUse::kPassedOn),
        tile_or_number<kScale, kScaleConstant>("scale", &T::scale_tile, "scale", &T::scale)
            .number_by_default()
            .undefined_elements(UndefinedUse::kPassedOn),
        engine_of(&T::engine),
        hidden_operand<kAccumulator>("accumulator", Direction::kWrite)};
  }
  Draft draft() const;
};
extern const InstructionType kActivationReduce;

}  // namespace neuron_sim
