#include "ops/pointwise/substitution.h"

namespace neuron_sim {

std::vector<ElementValue> append(Expression& target, const Expression& source,
                                 const std::vector<ElementValue>& inputs) {
  std::vector<ElementValue> values;
  const auto value = [&](int index) { return values[static_cast<size_t>(index)]; };
  for (const ExpressionStep& step : source.steps()) {
    switch (step.kind) {
      case ExpressionKind::kInput: values.push_back(inputs[static_cast<size_t>(step.input)]); break;
      case ExpressionKind::kConstant: values.push_back(target.constant(step.constant)); break;
      case ExpressionKind::kAlu:
        values.push_back(step.b < 0 ? target.alu(step.alu, value(step.a))
                                    : target.alu(step.alu, value(step.a), value(step.b)));
        break;
      case ExpressionKind::kActivation:
        values.push_back(target.activation(step.activation, value(step.a)));
        break;
      case ExpressionKind::kSelect:
        values.push_back(target.select(value(step.a), value(step.b), value(step.c)));
        break;
      case ExpressionKind::kRound: values.push_back(target.round(value(step.a))); break;
    }
  }
  std::vector<ElementValue> results;
  for (const int result : source.results()) results.push_back(value(result));
  return results;
}

}  // namespace neuron_sim
