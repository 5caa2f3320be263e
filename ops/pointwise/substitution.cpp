#include "ops/pointwise/substitution.h"

namespace neuron_sim {

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

}  // namespace neuron_sim
