#pragma once

#include <limits>

#include "device/instruction/instruction_type.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// dst_i = on_true_tile_i where (range_start + i) comp_op0 bound0 and (range_start + i) comp_op1
/// bound1 hold, else on_false_value, and reduce_res = the maximum over a partition, on Vector;
/// NeuronCore-v3 or newer. i counts the free elements in row-major order; the comparisons (equal,
/// less, less_equal, greater, greater_equal) are in fp32, so range_start + i stays within 2^24.
/// [P, F] tiles in SBUF or PSUM with equal partitions and elements per partition, on_true_tile of a
/// floating dtype; bounds are [P, 1] fp32 tiles; on_false_value must be the lowest finite fp32
/// number (isa.json range_select), which a dst of fewer bits turns into -inf.
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
  Draft draft() const;
};
extern const InstructionType kRangeSelect;

}  // namespace neuron_sim
