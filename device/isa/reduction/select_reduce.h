#pragma once

#include "device/instruction/instruction_type.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst = on_true where predicate is not zero, else on_false, and reduce_res = the maximum over all
/// elements of a partition, on Vector; reverse_pred exchanges the two. [P, F] tiles in SBUF or PSUM
/// with equal partitions and elements per partition, on_true and predicate not both in PSUM.
/// on_true: any dtype but tfloat32, int32 and uint32; predicate: int8, uint8, int16 or uint16;
/// on_false: a [P, 1] tile, or the fp32 constant when its view is absent (isa.json select_reduce).
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
  Draft draft() const;
};
extern const InstructionType kSelectReduce;

}  // namespace neuron_sim
