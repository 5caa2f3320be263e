#include "ops/pointwise/substitution.h"

namespace neuron_sim {
namespace {

/// Whether a step has two operands that are input 0 or, as an instruction may apply operators to
/// what it reads, computed from it.
bool combines_sums(const std::vector<ExpressionStep>& steps) {
  std::vector<bool> of_sums;
  for (const ExpressionStep& step : steps) {
    const auto reads = [&](int operand) {
      return operand >= 0 && of_sums[static_cast<size_t>(operand)];
    };
    if (reads(step.a) + reads(step.b) + reads(step.c) > 1) return true;
    const bool is_sums = step.kind == ExpressionKind::kInput && step.input == 0;
    of_sums.push_back(is_sums ||
                      (step.kind == ExpressionKind::kAlu && (reads(step.a) || reads(step.b))));
  }
  return false;
}

}  // namespace

ElementValue repeated(Expression& target, const ExpressionStep& step,
                      const std::vector<ElementValue>& values) {
  const auto value = [&](int index) { return values[static_cast<size_t>(index)]; };
  switch (step.kind) {
    case ExpressionKind::kInput: return target.input(step.input);
    case ExpressionKind::kConstant: return target.constant(step.constant);
    case ExpressionKind::kAlu:
      return step.b < 0 ? target.alu(step.alu, value(step.a))
                        : target.alu(step.alu, value(step.a), value(step.b));
    case ExpressionKind::kActivation: return target.activation(step.activation, value(step.a));
    case ExpressionKind::kSelect: return target.select(value(step.a), value(step.b), value(step.c));
    case ExpressionKind::kRound: break;
  }
  return target.round(value(step.a));
}

std::vector<ElementValue> append(Expression& target, const Expression& source,
                                 const std::vector<ElementValue>& inputs) {
  std::vector<ElementValue> values;
  for (const ExpressionStep& step : source.steps()) {
    const bool is_input = step.kind == ExpressionKind::kInput;
    values.push_back(is_input ? inputs[static_cast<size_t>(step.input)]
                              : repeated(target, step, values));
  }
  std::vector<ElementValue> results;
  for (const int result : source.results()) {
    results.push_back(values[static_cast<size_t>(result)]);
  }
  return results;
}

Expression reading_sums_once(const Expression& expression) {
  if (!combines_sums(expression.steps())) return expression;
  Expression result(expression.domain());
  std::vector<ElementValue> inputs{result.activation(Activation::kIdentity, result.input(0))};
  for (const ExpressionStep& step : expression.steps()) {
    if (step.kind != ExpressionKind::kInput) continue;
    for (int i = static_cast<int>(inputs.size()); i <= step.input; ++i) {
      inputs.push_back(result.input(i));
    }
  }
  for (const ElementValue value : append(result, expression, inputs)) result.add_result(value);
  return result;
}

}  // namespace neuron_sim
