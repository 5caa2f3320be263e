#pragma once

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = on_true where predicate is not zero, else on_false, and reduce_res = the maximum over all
/// elements of a partition, on Vector; reverse_pred exchanges the two. [P, F] tiles in SBUF or PSUM
/// with equal partitions and elements per partition, on_true and predicate not both in PSUM.
/// on_true: any dtype but tfloat32, int32 and uint32; predicate: int8, uint8, int16 or uint16;
/// on_false: a [P, 1] tile, or the fp32 constant when its view is absent
/// (docs/hardware_facts.md#select_reduce).
/// Selected values pass through fp32 and are rounded once to dst.
///
/// The fp32 values, before they are rounded to dst, are reduced into the accumulator registers of
/// the engine: kIdle (leaves them; the vendor warns that it may not), kResetReduce from -inf, or
/// kReduce on top of what earlier instructions left. NaN wins. reduce_res, [P, 1] of a floating
/// dtype, gets the registers, rounded once. reduce_op must be kMaximum.
struct SelectReduce {
  View dst, predicate, on_true;
  View on_false{};  ///< absent: constant_false
  View reduce_res{};
  double constant_false = 0;
  ReduceCommand reduce_command = ReduceCommand::kIdle;
  AluOp reduce_op = AluOp::kMaximum;
  bool reverse_pred = false;
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kPredicate, kOnTrue, kOnFalse, kAccumulator, kReduceRes };
  enum AttributeIndex { kConstantFalse, kReduceCommand, kReduceOp, kReverse };
  static constexpr auto fields() {
    using T = SelectReduce;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kPredicate>("predicate", Direction::kRead, &T::predicate),
                      operand<kOnTrue>("on_true", Direction::kRead, &T::on_true)
                          .undefined_elements(UndefinedUse::kPassedOn),
                      tile_or_number<kOnFalse, kConstantFalse>("on_false", &T::on_false,
                                                               "constant_false", &T::constant_false)
                          .required()
                          .undefined_elements(UndefinedUse::kPassedOn),
                      optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
                      attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
                      attribute<kReduceOp>("reduce_op", &T::reduce_op),
                      attribute<kReverse>("reverse_pred", &T::reverse_pred),
                      engine_of(&T::engine),
                      hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};
extern const InstructionType kSelectReduce;

}  // namespace neuron_sim
