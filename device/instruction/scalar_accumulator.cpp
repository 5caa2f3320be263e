#include "device/instruction/scalar_accumulator.h"

#include <cmath>
#include <cstring>

#include "device/base/errors.h"
#include "device/instruction/rows.h"
#include "device/numerics/reduction.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

/// The value that changes no reduction.
float reset_value(AluOp op) {
  switch (op) {
    case AluOp::kMaximum: return -INFINITY;
    case AluOp::kMinimum:
    case AluOp::kAbsMin: return INFINITY;
    default: return 0;
  }
}

float update(const ScalarReduction& reduction, float held, const float* results, int64_t count) {
  const ReduceCommand command = reduction.command;
  require(command != ReduceCommand::kLoadReduce, "the Scalar engine has no load_reduce");
  const bool resets = command == ReduceCommand::kReset || command == ReduceCommand::kResetReduce;
  const bool reduces = command == ReduceCommand::kReduce || command == ReduceCommand::kResetReduce;
  const float start = resets ? reset_value(reduction.op) : held;
  if (!reduces) return start;
  return apply(reduction.op, start, reduce_in_partials(reduction.op, results, count));
}

}  // namespace

View scalar_accumulator(ReduceCommand command, const View& reduce_res, int64_t partitions) {
  if (command == ReduceCommand::kIdle && !reduce_res.present()) return {};
  return engine_state(EngineState::kScalarAccumulator, partitions);
}

void accumulate(const ScalarReduction& reduction, const Access& registers, const Access& reduce_res,
                int64_t partition, const float* results, int64_t count) {
  if (!registers.present()) return;
  float value = 0;
  std::memcpy(&value, registers.partition(partition), sizeof value);
  value = update(reduction, value, results, count);
  std::memcpy(registers.partition(partition), &value, sizeof value);
  if (reduce_res.present()) write_row(reduce_res, partition, &value);
}

}  // namespace neuron_sim
