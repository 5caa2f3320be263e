#include "device/instruction/vector_accumulator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/rows.h"
#include "device/instruction/scalar_stage.h"
#include "device/numerics/reduction.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

template <typename Value>
std::string listing(std::initializer_list<Value> values) {
  std::string result;
  for (const Value& value : values) result += text(result.empty() ? "" : ", ", name(value));
  return result;
}

template <typename Value>
bool contains(std::initializer_list<Value> values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::string_view name(ReduceCommand command) {
  constexpr std::array<std::string_view, 5> kNames = {"idle", "reset", "reduce", "reset_reduce",
                                                      "load_reduce"};
  return kNames[static_cast<size_t>(command)];
}

float Accumulation::update(float held, float initial, const float* values, int64_t count) const {
  if (command == ReduceCommand::kIdle) return held;
  if (command == ReduceCommand::kReset) return reduction_identity(op);
  if (op == AluOp::kSubtract && command == ReduceCommand::kResetReduce) {
    return reduce(op, values, count);
  }
  float start = held;
  if (command == ReduceCommand::kResetReduce) start = reduction_identity(op);
  if (command == ReduceCommand::kLoadReduce) start = initial;
  const bool ordered = op == AluOp::kAdd || op == AluOp::kSubtract || op == AluOp::kMultiply;
  return ordered ? reduce_in_order(op, start, values, count)
                 : apply(op, start, reduce(op, values, count));
}

View vector_accumulator(ReduceCommand command, const View& reduce_res, int64_t partitions) {
  if (command == ReduceCommand::kIdle && !reduce_res.present()) return {};
  return engine_state(EngineState::kVectorAccumulator, partitions);
}

void accumulate(const Accumulation& accumulation, const Access& registers, const Access& reduce_res,
                int64_t partition, float initial, const float* values, int64_t count) {
  if (!registers.present()) return;
  float value = 0;
  std::memcpy(&value, registers.partition(partition), sizeof value);
  value = accumulation.update(value, initial, values, count);
  std::memcpy(registers.partition(partition), &value, sizeof value);
  if (!reduce_res.present()) return;
  if (accumulation.negate) value = -value;
  write_row(reduce_res, partition, &value);
}

namespace checks {

void reduce_command(std::string_view instruction, ReduceCommand command,
                    std::initializer_list<ReduceCommand> allowed) {
  if (contains(allowed, command)) return;
  fail(text("reduce_cmd '", name(command), "' of '", instruction,
            "' is not supported; expected one of: ", listing(allowed), "."));
}

void reduce_operator(std::string_view instruction, AluOp op, std::initializer_list<AluOp> allowed) {
  if (contains(allowed, op)) return;
  fail(text("reduce_op '", name(op), "' of '", instruction,
            "' is not supported; expected one of: ", listing(allowed), "."));
}

void initial_value(std::string_view instruction, std::string_view operand, const View& tile,
                   double constant, ReduceCommand command, const View& data, EngineKind engine,
                   const Architecture& architecture) {
  if (command != ReduceCommand::kLoadReduce && (tile.present() || constant != 0)) {
    fail(text("operand '", operand, "' of '", instruction, "' is given, but reduce_cmd is '",
              name(command), "'; only 'load_reduce' loads it."));
  }
  fp32_per_partition(instruction, operand, tile, data, engine, architecture);
}

void reduce_result(std::string_view instruction, const View& reduce_res, const View& data,
                   EngineKind engine, const Architecture& architecture) {
  if (!reduce_res.present()) return;
  compute_operand(instruction, "reduce_res", reduce_res, engine, architecture);
  per_partition(instruction, "reduce_res", reduce_res, data);
}

}  // namespace checks
}  // namespace neuron_sim
