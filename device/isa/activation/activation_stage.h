#pragma once
// Shared by activation and activation_reduce. They have the same operands and first attributes;
// activation_reduce is activation with reduce_cmd 'reset_reduce'.

#include "device/instruction/instruction_type.h"
#include "device/instruction/reduce_command.h"

namespace neuron_sim::activation_stage {

enum OperandIndex { kDst, kData, kBias, kScale, kAccumulator, kReduceRes };
enum AttributeIndex { kOp, kScaleConstant, kBiasConstant, kReduceOp, kReduceCommand };

/// Everything but the reduction.
void check(const Draft& draft, const Architecture& architecture);
/// reduce_op is add where something is reduced (else none or add), reduce_res a [P, 1] tile.
void check_reduction(const Draft& draft, ReduceCommand command, const Architecture& architecture);
void run(const Instance& instance, ReduceCommand command);
/// Scale, bias and reduction are free; reading the registers is not
/// (docs/hardware_facts.md#activation).
Demand demand(const Draft& draft, const Architecture& architecture);

}  // namespace neuron_sim::activation_stage
