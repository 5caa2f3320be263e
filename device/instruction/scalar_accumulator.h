#pragma once
// The reduction registers of the Scalar engine, one fp32 per partition, which activation,
// activation_reduce and activate2 share.

#include "device/instruction/instruction_type.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// An instruction's use of the registers. "Reset" is to 0 for add and abs_max, -inf for maximum,
/// inf for minimum and abs_min. A reduction is register op reduce_in_partials(op, results)
/// (device/numerics/reduction.h); abs_max and abs_min give magnitudes.
struct ScalarReduction {
  ReduceCommand command = ReduceCommand::kIdle;
  AluOp op = AluOp::kAdd;
};

/// The operand of an instruction on `partitions` partitions: absent when it neither changes nor
/// reads the registers.
View scalar_accumulator(ReduceCommand command, const View& reduce_res, int64_t partitions);

/// Updates the register of a partition with its fp32 results and writes the register to reduce_res,
/// rounded once; each is absent or not.
void accumulate(const ScalarReduction& reduction, const Access& registers, const Access& reduce_res,
                int64_t partition, const float* results, int64_t count);

}  // namespace neuron_sim
