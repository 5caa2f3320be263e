#pragma once
// The accumulator registers of the Vector engine, one fp32 per partition, which several
// instructions reduce into.

#include <initializer_list>

#include "device/instruction/instruction_type.h"
#include "device/instruction/reduce_command.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// "idle", "reset", "reduce", "reset_reduce", "load_reduce".
std::string_view name(ReduceCommand command);

/// An instruction's use of the registers: first `command`, then `reduce_res`, [P, 1], gets them
/// (times -1 with `negate`), rounded once.
struct Accumulation {
  ReduceCommand command = ReduceCommand::kIdle;
  AluOp op = AluOp::kAdd;
  bool negate = false;

  /// The register of a partition after the fp32 results `values` of that partition: held op first
  /// op second ..., where kResetReduce starts from reduction_identity(op) and kLoadReduce from
  /// `initial` (kResetReduce of subtract: first - second ..., as tensor_reduce). kIdle leaves it;
  /// the vendor warns that it may not.
  float update(float held, float initial, const float* values, int64_t count) const;
};

/// The operand of an instruction on `partitions` partitions: absent when it neither changes nor
/// reads the registers.
View vector_accumulator(ReduceCommand command, const View& reduce_res, int64_t partitions);

/// Updates the register of a partition and writes reduce_res, if there is one.
void accumulate(const Accumulation& accumulation, const Access& registers, const Access& reduce_res,
                int64_t partition, float initial, const float* values, int64_t count);

namespace checks {

/// `command` is one that the instruction supports.
void reduce_command(std::string_view instruction, ReduceCommand command,
                    std::initializer_list<ReduceCommand> allowed);
/// `reduce_op` is one that the instruction supports.
void reduce_operator(std::string_view instruction, AluOp op, std::initializer_list<AluOp> allowed);
/// The initial value, an fp32 constant or [P, 1] tile, is given (is not 0) for kLoadReduce only.
void initial_value(std::string_view instruction, std::string_view operand, const View& tile,
                   double constant, ReduceCommand command, const View& data, EngineKind engine,
                   const Architecture& architecture);
/// reduce_res is absent or a [P, 1] tile with the partitions of `data`.
void reduce_result(std::string_view instruction, const View& reduce_res, const View& data,
                   EngineKind engine, const Architecture& architecture);

}  // namespace checks
}  // namespace neuron_sim
