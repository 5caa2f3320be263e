#include "device/instruction/scalar_stage.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/row_loops.h"
#include "device/numerics/alu.h"

namespace neuron_sim {
namespace {

/// One row. In place, only the pragma tells the compiler that elements are independent.
template <typename Value, typename Operand, typename Function>
void map_values(Function function, const Value* data, Operand operand, Value* result,
                int64_t count) {
  if (!row_loops::same_or_apart(data, result, count)) {
    for (int64_t i = 0; i < count; ++i) result[i] = function(data[i], operand);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) result[i] = function(data[i], operand);
}

template <typename Value, typename Operand, typename Function>
void map_values(Function function, bool reverse, const Value* data, Operand operand, Value* result,
                int64_t count) {
  if (!reverse) return map_values(function, data, operand, result, count);
  const auto reversed = [function](Value value, Operand first) { return function(first, value); };
  map_values(reversed, data, operand, result, count);
}

}  // namespace

void map_row(const ScalarStage& stage, const float* data, float operand, float* result,
             int64_t count) {
  alu::with_float_operator(stage.op, [&](auto function) {
    map_values(function, stage.reverse, data, operand, result, count);
  });
}

void map_row(const ScalarStage& stage, const int64_t* data, int64_t operand, int64_t* result,
             int64_t count) {
  alu::with_integer_operator(stage.op, [&](auto function) {
    map_values(function, stage.reverse, data, operand, result, count);
  });
}

void map_words(const ScalarStage& stage, const float* data, int64_t operand, float* result,
               int64_t count) {
  alu::with_integer_operator(stage.op, [&](auto function) {
    map_values(alu::on_words(function), stage.reverse, data, operand, result, count);
  });
}

float scalar_operand(const Access& tile, double constant, int64_t partition) {
  return tile.present() ? read_scalar(tile, partition) : static_cast<float>(constant);
}

namespace checks {

void vector_operator(std::string_view instruction, std::string_view parameter, AluOp op,
                     Arity arity) {
  const bool arithmetic = is_vector_operator(op) && !is_bitwise(op);
  if (arithmetic && (arity == Arity::kAny || !is_unary(op))) return;
  fail(text("operator ", parameter, " '", name(op), "' of '", instruction,
            "' is not supported; expected an arithmetic operator of the Vector engine",
            arity == Arity::kTwo ? " on two operands." : "."));
}

void unary_operand(std::string_view instruction, std::string_view operand, const View& tile,
                   const ScalarStage& stage) {
  if (!is_unary(stage.op)) return;
  if (tile.present() || stage.constant != 0) {
    fail(text("operand '", operand, "' of '", instruction,
              "' must be None or 0 for the unary operator ", name(stage.op), "."));
  }
  if (stage.reverse) {
    fail(text("operator ", name(stage.op), " of '", instruction,
              "' is unary and cannot be reversed."));
  }
}

void fp32_per_partition(std::string_view instruction, std::string_view operand, const View& tile,
                        const View& data, EngineKind engine, const Architecture& architecture) {
  if (!tile.present()) return;
  compute_operand(instruction, operand, tile, engine, architecture);
  per_partition(instruction, operand, tile, data);
  if (tile.dtype() != Dtype::kFloat32) dtype_error(instruction, operand, tile, "float32");
}

}  // namespace checks
}  // namespace neuron_sim
