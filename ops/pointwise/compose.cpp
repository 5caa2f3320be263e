#include "ops/pointwise/compose.h"

#include <algorithm>

#include "ops/pointwise/substitution.h"

namespace neuron_sim {

std::vector<ElementValue> append_steps(Expression& target, const Expression& source,
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

std::vector<ElementValue> first_inputs(Expression& target, size_t count) {
  std::vector<ElementValue> inputs;
  for (size_t i = 0; i < count; ++i) inputs.push_back(target.input(static_cast<int>(i)));
  return inputs;
}

Expression with_inputs(
    const Expression& source,
    const std::function<ElementValue(Expression& target, size_t input)>& input_of) {
  Expression target(source.domain());
  std::vector<ElementValue> inputs;
  for (const ExpressionStep& step : source.steps()) {
    if (step.kind != ExpressionKind::kInput) continue;
    const auto input = static_cast<size_t>(step.input);
    if (inputs.size() <= input) inputs.resize(input + 1, ElementValue(target, -1));
    inputs[input] = input_of(target, input);
  }
  for (const ElementValue& result : append_steps(target, source, inputs)) {
    target.add_result(result);
  }
  return target;
}

Expression together(const std::vector<const Expression*>& expressions, size_t inputs) {
  Expression all;
  const std::vector<ElementValue> values = first_inputs(all, inputs);
  for (const Expression* const expression : expressions) {
    all.add_result(append_steps(all, *expression, values).front());
  }
  return all;
}

Expression single_result(const Expression& expression, size_t index) {
  Expression target(expression.domain());
  size_t inputs = 0;
  for (const ExpressionStep& step : expression.steps()) {
    inputs = std::max(inputs, static_cast<size_t>(step.input + 1));
  }
  target.add_result(append_steps(target, expression, first_inputs(target, inputs))[index]);
  return target;
}

}  // namespace neuron_sim
