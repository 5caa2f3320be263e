#include "ops/rows/normalised_row.h"

#include <algorithm>

#include "device/isa/elementwise/scalar_tensor_tensor.h"
#include "device/isa/elementwise/tensor_scalar.h"
#include "device/isa/elementwise/tensor_tensor.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

/// Reads the steps of an expression from its result on.
class Reader {
 public:
  explicit Reader(const Expression& expression) : steps_(expression.steps()) {}

  /// The input that a step is; empty when it is something else.
  std::optional<size_t> input(int step) const {
    const ExpressionStep& found = at(step);
    if (found.kind != ExpressionKind::kInput) return std::nullopt;
    return static_cast<size_t>(found.input);
  }
  bool is(int step, AluOp op) const {
    const ExpressionStep& found = at(step);
    return found.kind == ExpressionKind::kAlu && found.alu == op && found.b >= 0;
  }
  const ExpressionStep& at(int step) const { return steps_[static_cast<size_t>(step)]; }

  /// The two inputs of a step.
  std::optional<std::pair<size_t, size_t>> inputs(int step, AluOp op) const {
    if (!is(step, op)) return std::nullopt;
    const auto a = input(at(step).a), b = input(at(step).b);
    return a && b ? std::optional(std::pair(*a, *b)) : std::nullopt;
  }
  /// Takes the second operand off a step of that operator when it is an input.
  std::optional<size_t> take(int& step, AluOp op) const {
    if (!is(step, op)) return std::nullopt;
    const auto second = input(at(step).b);
    if (second) step = at(step).a;
    return second;
  }

 private:
  const std::vector<ExpressionStep>& steps_;
};

/// dst [P, F] = value * factor, and * weight if there is one.
void scale(Builder& builder, const NormalisedTiles& tiles, const View& dst) {
  if (tiles.weight.present()) {
    builder.emit(ScalarTensorTensor{.dst = dst,
                                    .data = tiles.value,
                                    .operand0 = tiles.factor,
                                    .operand1 = tiles.weight,
                                    .op0 = AluOp::kMultiply,
                                    .op1 = AluOp::kMultiply});
    return;
  }
  builder.emit(TensorScalar{.dst = dst,
                            .data = tiles.value,
                            .operand0 = tiles.factor,
                            .op0 = AluOp::kMultiply,
                            .engine = EngineKind::kVector});
}

/// dst [P, F] = the normalised row.
void compute(Builder& builder, const NormalisedTiles& tiles, const View& scratch, const View& dst) {
  if (!tiles.shift.present()) {
    scale(builder, tiles, dst);
    return;
  }
  const bool adds = tiles.bias.present();
  if (!tiles.weight.present()) {
    builder.emit(TensorScalar{.dst = adds ? scratch : dst,
                              .data = tiles.value,
                              .operand0 = tiles.shift,
                              .operand1 = tiles.factor,
                              .op0 = AluOp::kSubtract,
                              .op1 = AluOp::kMultiply,
                              .engine = EngineKind::kVector});
    if (adds) builder.emit(TensorTensor{.dst = dst, .data1 = scratch, .data2 = tiles.bias});
    return;
  }
  builder.emit(ScalarTensorTensor{.dst = scratch,
                                  .data = tiles.value,
                                  .operand0 = tiles.shift,
                                  .operand1 = tiles.weight,
                                  .op0 = AluOp::kSubtract,
                                  .op1 = AluOp::kMultiply});
  if (adds) {
    builder.emit(ScalarTensorTensor{.dst = dst,
                                    .data = scratch,
                                    .operand0 = tiles.factor,
                                    .operand1 = tiles.bias,
                                    .op0 = AluOp::kMultiply,
                                    .op1 = AluOp::kAdd});
    return;
  }
  builder.emit(TensorScalar{.dst = dst,
                            .data = scratch,
                            .operand0 = tiles.factor,
                            .op0 = AluOp::kMultiply,
                            .engine = EngineKind::kVector});
}

}  // namespace

std::optional<Square> square_of(const Expression& expression) {
  const Reader reader(expression);
  const int square = expression.results().front();
  if (!reader.is(square, AluOp::kMultiply)) return std::nullopt;
  const ExpressionStep& step = reader.at(square);
  if (step.a != step.b) return std::nullopt;
  if (const auto value = reader.input(step.a)) return Square{*value};
  const auto inputs = reader.inputs(step.a, AluOp::kSubtract);
  if (!inputs) return std::nullopt;
  return Square{inputs->first, inputs->second};
}

std::optional<NormalisedRow> normalised_row(const Expression& expression) {
  const Reader reader(expression);
  int step = expression.results().front();
  NormalisedRow row;
  row.bias = reader.take(step, AluOp::kAdd);
  std::optional<size_t> factor = reader.take(step, AluOp::kMultiply);
  if (const auto inner = reader.take(step, AluOp::kMultiply)) {
    row.weight = factor;
    factor = inner;
  }
  if (!factor) return std::nullopt;
  row.factor = *factor;
  if (const auto value = reader.input(step); value && !row.bias) {
    row.value = *value;
    return row;
  }
  const auto difference = reader.inputs(step, AluOp::kSubtract);
  if (!difference) return std::nullopt;
  row.value = difference->first;
  row.shift = difference->second;
  return row;
}

void emit_normalised(Builder& builder, const NormalisedTiles& tiles, const View& scratch,
                     const std::vector<View>& results) {
  const auto wide = std::find_if(results.begin(), results.end(), [](const View& result) {
    return result.dtype() == Dtype::kFloat32;
  });
  if (wide != results.end()) compute(builder, tiles, scratch, *wide);
  for (auto result = results.begin(); result != results.end(); ++result) {
    if (result == wide) continue;
    if (wide == results.end()) {
      compute(builder, tiles, scratch, *result);
    } else {
      builder.emit(TensorCopy{.dst = *result, .src = *wide, .engine = EngineKind::kScalar});
    }
  }
}

}  // namespace neuron_sim
