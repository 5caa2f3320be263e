#include "ops/graph/kernels/row_chain.h"

#include <algorithm>

#include "ops/graph/kernels/tensor_match.h"
#include "ops/pointwise/compose.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

bool is_joinable(const GraphKernel& rows, const GraphKernel& pointwise) {
  const auto* const expression = pointwise.traits.as<Expression>();
  return rows.traits.as<RowProgram>() != nullptr && expression != nullptr &&
         expression->domain() == Domain::kFloat && !rows.operands.empty() &&
         !pointwise.operands.empty();
}

/// `function` of every expression of stages and results.
template <typename Function>
void for_each_expression(RowProgram& program, const Function& function) {
  for (RowStage& stage : program.stages) stage.value = function(stage.value);
  for (Expression& result : program.results) result = function(result);
}

void set_program(GraphKernel& kernel, RowProgram program) {
  kernel.emit = with_options<RowProgram>(emit_row_program, program);
  kernel.traits.set(std::move(program));
}

/// What the inputs of a row program become when operands become prepared values.
class Preparation {
 public:
  Preparation(const GraphKernel& before, const GraphKernel& rows) : rows_(rows) {
    values_ = rows.traits.as<RowProgram>()->prepared.size();
    for (const GraphTensor& operand : rows.operands) {
      const auto found =
          std::find_if(before.results.begin(), before.results.end(),
                       [&](const GraphTensor& result) { return same_elements(result, operand); });
      if (found == before.results.end()) {
        bad_ = bad_ || touches(before.results, operand);
        operands_.push_back(operand);
        places_.push_back({false, operands_.size() - 1});
      } else {
        places_.push_back({true, static_cast<size_t>(found - before.results.begin())});
        linked_ = true;
      }
    }
    for (const GraphTensor& operand : before.operands) {
      before_places_.push_back(place_of(operands_, operand));
    }
  }

  bool valid() const { return linked_ && !bad_ && !operands_.empty(); }
  const std::vector<GraphTensor>& operands() const { return operands_; }

  /// An expression of the operands of `before` as one of the new operands.
  Expression of_before(const Expression& expression) const {
    return with_inputs(expression, [&](Expression& target, size_t input) {
      return target.input(static_cast<int>(before_places_[input]));
    });
  }

  /// An expression of the row program's inputs; results of `before` come after its own values.
  Expression of_rows(const Expression& expression, size_t new_values) const {
    return with_inputs(expression, [&](Expression& target, size_t input) {
      const size_t known = rows_.operands.size();
      size_t place = operands_.size() + input - known;  // a prepared value
      if (input < known) {
        const auto [prepared, index] = places_[input];
        place = prepared ? operands_.size() + values_ + index : index;
      } else if (input >= known + values_) {
        place += new_values;
      }
      return target.input(static_cast<int>(place));
    });
  }

  /// A prepared value of the row program, whose inputs may be results of `before`.
  Expression of_values(const Expression& expression, const Expression& before) const {
    return with_inputs(expression, [&](Expression& target, size_t input) {
      const auto [prepared, index] = places_[input];
      if (!prepared) return target.input(static_cast<int>(index));
      return append_steps(target, of_before(before), first_inputs(target, operands_.size()))[index];
    });
  }

 private:
  struct Place {
    bool prepared;
    size_t index;
  };
  const GraphKernel& rows_;
  size_t values_ = 0;
  std::vector<GraphTensor> operands_;
  std::vector<Place> places_;          ///< per operand of the row program
  std::vector<size_t> before_places_;  ///< per operand of `before`
  bool linked_ = false, bad_ = false;
};

}  // namespace

std::optional<GraphKernel> after_pointwise(const GraphKernel& given, const GraphKernel& rows) {
  if (!is_joinable(rows, given)) return std::nullopt;
  const auto before = under_shape(given, rows.operands.front().shape);
  if (!before) return std::nullopt;
  const Preparation preparation(*before, rows);
  if (!preparation.valid()) return std::nullopt;
  const size_t added = before->results.size(),
               known = rows.traits.as<RowProgram>()->prepared.size();
  RowProgram program = *rows.traits.as<RowProgram>();
  for_each_expression(program, [&](const Expression& expression) {
    return preparation.of_rows(expression, added);
  });
  for (Expression& value : program.prepared) {
    value = preparation.of_values(value, *before->traits.as<Expression>());
  }
  GraphKernel joined = rows;
  joined.operands = preparation.operands();
  joined.traits.operands.clear();
  for (size_t i = 0; i < added; ++i) {
    program.prepared.push_back(
        preparation.of_before(single_result(*before->traits.as<Expression>(), i)));
    Expression value;
    value.add_result(value.input(static_cast<int>(joined.operands.size() + known + i)));
    program.results.push_back(std::move(value));
    joined.results.push_back(before->results[i]);
  }
  set_program(joined, std::move(program));
  return joined;
}

std::optional<GraphKernel> before_pointwise(const GraphKernel& rows, const GraphKernel& given) {
  if (!is_joinable(rows, given)) return std::nullopt;
  const auto after = under_shape(given, rows.operands.front().shape);
  if (!after) return std::nullopt;
  GraphKernel joined = rows;
  joined.traits.operands.clear();
  std::vector<std::optional<size_t>> links;  // per operand of `after`: the result that it is
  std::vector<size_t> places;
  for (const GraphTensor& operand : after->operands) {
    const auto found =
        std::find_if(rows.results.begin(), rows.results.end(), [&](const GraphTensor& result) {
          return result.shape == operand.shape && same_elements(result, operand);
        });
    const bool linked = found != rows.results.end();
    if (!linked && touches(rows.results, operand)) return std::nullopt;
    links.push_back(linked ? std::optional<size_t>(found - rows.results.begin()) : std::nullopt);
    places.push_back(linked ? 0 : place_of(joined.operands, operand));
  }
  const size_t known = rows.operands.size(), added = joined.operands.size() - known;
  RowProgram program = *rows.traits.as<RowProgram>();
  const auto moved = [&](Expression& target, size_t input) {
    return target.input(static_cast<int>(input < known ? input : input + added));
  };
  for_each_expression(program,
                      [&](const Expression& expression) { return with_inputs(expression, moved); });
  const std::vector<Expression> results = program.results;
  for (size_t i = 0; i < after->results.size(); ++i) {
    program.results.push_back(with_inputs(
        single_result(*after->traits.as<Expression>(), i),
        [&](Expression& target, size_t input) -> ElementValue {
          if (!links[input]) return target.input(static_cast<int>(places[input]));
          const size_t inputs =
              joined.operands.size() + program.prepared.size() + program.stages.size();
          return append_steps(target, results[*links[input]], first_inputs(target, inputs)).front();
        }));
    joined.results.push_back(after->results[i]);
  }
  set_program(joined, std::move(program));
  return joined;
}

GraphKernel with_results(const GraphKernel& rows, const std::vector<bool>& kept) {
  GraphKernel reduced = rows;
  const RowProgram& given = *rows.traits.as<RowProgram>();
  RowProgram program = given;
  reduced.results.clear();
  program.results.clear();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    reduced.results.push_back(rows.results[i]);
    program.results.push_back(given.results[i]);
  }
  set_program(reduced, std::move(program));
  return reduced;
}

}  // namespace neuron_sim
