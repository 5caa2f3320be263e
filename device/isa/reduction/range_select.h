#pragma once

#include <limits>

#include "device/instruction/fields.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst_i = on_true_tile_i where (range_start + i) comp_op0 bound0 and (range_start + i) comp_op1
/// bound1 hold, else on_false_value, and reduce_res = the maximum over a partition, on Vector;
/// NeuronCore-v3 or newer. i counts the free elements in row-major order; the comparisons (equal,
/// less, less_equal, greater, greater_equal) are in fp32, so range_start + i stays within 2^24.
/// [P, F] tiles in SBUF or PSUM with equal partitions and elements per partition, on_true_tile of a
/// floating dtype; bounds are [P, 1] fp32 tiles; on_false_value must be the lowest finite fp32
/// number (docs/hardware_facts.md#range_select), which a dst of fewer bits turns into -inf.
///
/// The fp32 values, before they are rounded to dst, are reduced into the accumulator registers of
/// the engine: kIdle (leaves them; the vendor warns that it may not), kReset to -inf, kResetReduce,
/// or kReduce on top of what earlier instructions left. NaN wins. reduce_res, [P, 1], gets the
/// registers, rounded once. reduce_op must be kMaximum.
struct RangeSelect {
  View dst, on_true_tile, bound0, bound1;
  View reduce_res{};
  AluOp comp_op0 = AluOp::kGreaterEqual;
  AluOp comp_op1 = AluOp::kLess;
  ReduceCommand reduce_command = ReduceCommand::kResetReduce;
  AluOp reduce_op = AluOp::kMaximum;
  int64_t range_start = 0;
  double on_false_value = std::numeric_limits<float>::lowest();
  EngineKind engine = EngineKind::kAuto;  ///< Vector

  enum OperandIndex { kDst, kOnTrue, kBound0, kBound1, kAccumulator, kReduceRes };
  enum AttributeIndex { kComp0, kComp1, kReduceCommand, kReduceOp, kRangeStart, kOnFalse };
  static constexpr auto fields() {
    using T = RangeSelect;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kOnTrue>("on_true_tile", Direction::kRead, &T::on_true_tile)
                          .undefined_elements(UndefinedUse::kPassedOn),
                      attribute<kComp0>("comp_op0", &T::comp_op0).required(),
                      attribute<kComp1>("comp_op1", &T::comp_op1).required(),
                      operand<kBound0>("bound0", Direction::kRead, &T::bound0),
                      operand<kBound1>("bound1", Direction::kRead, &T::bound1),
                      attribute<kReduceCommand>("reduce_cmd", &T::reduce_command),
                      optional_operand<kReduceRes>("reduce_res", Direction::kWrite, &T::reduce_res),
                      attribute<kReduceOp>("reduce_op", &T::reduce_op),
                      attribute<kRangeStart>("range_start", &T::range_start),
                      attribute<kOnFalse>("on_false_value", &T::on_false_value),
                      engine_of(&T::engine),
                      hidden_operand<kAccumulator>("accumulator", Direction::kReadWrite, true)};
  }
  Draft draft() const;
};
extern const InstructionType kRangeSelect;

}  // namespace neuron_sim
