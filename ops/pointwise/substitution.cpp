#include "ops/pointwise/substitution.h"

#include "ops/pointwise/compose.h"

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
    case ExpressionKind::kCopySign: return target.copy_sign(value(step.a), value(step.b));
    case ExpressionKind::kRound: break;
  }
  return target.round(value(step.a));
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
  for (const ElementValue value : append_steps(result, expression, inputs))
    result.add_result(value);
  return result;
}

}  // namespace neuron_sim
