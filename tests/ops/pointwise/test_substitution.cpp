#include "ops/pointwise/compose.h"
#include "ops/pointwise/substitution.h"

#include "tests/ops/pointwise/evaluated_expression.h"
#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {
namespace {

TEST(Substitution, AnAppendedExpressionComputesWhatItDidOfItsInputs) {
  Expression source;
  const ElementValue x = source.input(0), y = source.input(1);
  source.add_result(maximum(x * 2.0 + y, source.constant(0)));
  source.add_result(select(x, call(Activation::kRelu, y), source.round(x)));
  Expression target;
  const ElementValue a = target.input(0), b = target.input(1);
  const std::vector<ElementValue> results = append_steps(target, source, {a + b, a * b});
  for (const ElementValue& result : results) target.add_result(result);
  for (const auto& [first, second] : {std::pair{1.5F, -2.0F}, std::pair{-1.0F, 1.0F}}) {
    const std::vector<float> own = evaluated(source, {first + second, first * second});
    const std::vector<float> joined = evaluated(target, {first, second});
    for (size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(joined[static_cast<size_t>(target.results()[r])],
                own[static_cast<size_t>(source.results()[r])]);
    }
  }
}

TEST(Substitution, ARepeatedInputIsTheSameInput) {
  Expression source, target;
  source.input(3);
  EXPECT_EQ(target.steps().size(), 0U);
  const ElementValue value = repeated(target, source.steps().front(), {});
  EXPECT_EQ(target.steps()[static_cast<size_t>(value.step())].input, 3);
}

TEST(Substitution, SumsThatMeetThemselvesAreCopiedOnce) {
  const auto check = [](const WriteExpression& write, size_t copies) {
    const Expression source = written(write);
    const Expression once = reading_sums_once(source);
    EXPECT_EQ(once.steps().size(), source.steps().size() + copies);
    const auto value = [](const Expression& e) {
      return evaluated(e, {1.5F, -2.0F})[static_cast<size_t>(e.results().front())];
    };
    EXPECT_EQ(value(once), value(source));
  };
  check([](Expression& e) { return e.input(0) * e.input(0); }, 1);
  check([](Expression& e) { return e.input(0) * 2.0 + e.input(0); }, 1);
  check([](Expression& e) { return call(Activation::kRelu, e.input(0)) * e.input(0); }, 0);
  check([](Expression& e) { return e.input(0) + e.input(1); }, 0);
}

}  // namespace
}  // namespace neuron_sim
