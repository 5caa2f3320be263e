#pragma once
// The operation that tensor_scalar and its relatives share: an operator on a row and one value per
// partition.

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// data op operand, element by element; operand op data when reversed; op data when op is unary.
struct ScalarStage {
  AluOp op = AluOp::kNone;
  double constant = 0;  ///< the operand when there is no [P, 1] tile
  bool reverse = false;
};

/// How many operands an operator may take.
enum class Arity : uint8_t { kAny, kTwo };

/// The row of one partition in fp32; `result` may be `data`. SimulatorBug for bitwise operators.
void map_row(const ScalarStage& stage, const float* data, float operand, float* result,
             int64_t count);
/// The row of one partition in integers, exact. SimulatorBug unless is_exact_on_integers(stage.op).
void map_row(const ScalarStage& stage, const int64_t* data, int64_t operand, int64_t* result,
             int64_t count);
/// The same on the int32 in the bits of floats, whose results wrap.
void map_words(const ScalarStage& stage, const float* data, int64_t operand, float* result,
               int64_t count);
/// The element of a [P, 1] tile, widened to fp32, or the constant rounded to fp32.
float scalar_operand(const Access& tile, double constant, int64_t partition);

namespace checks {

/// `op` is an arithmetic operator of the Vector engine; `parameter` is its name ("op0").
void vector_operator(std::string_view instruction, std::string_view parameter, AluOp op,
                     Arity arity);
/// The operand of a unary operator is neither a tile nor a constant other than 0, nor reversed.
void unary_operand(std::string_view instruction, std::string_view operand, const View& tile,
                   const ScalarStage& stage);
/// A [P, 1] fp32 tile of a compute engine with the partitions of `data`, or absent.
void fp32_per_partition(std::string_view instruction, std::string_view operand, const View& tile,
                        const View& data, EngineKind engine, const Architecture& architecture);

}  // namespace checks
}  // namespace neuron_sim
