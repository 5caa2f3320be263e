// Expressions made at random: joined instructions and shared slots change no value.

#include "tests/ops/pointwise/evaluated_expression.h"

namespace neuron_sim {
namespace {

constexpr int kInputs = 3;

Expression random_expression(RandomLayouts& random) {
  Expression e;
  std::vector<ElementValue> known;
  for (int i = 0; i < kInputs; ++i) known.push_back(e.input(i));
  const int64_t steps = random.number(1, 25);
  for (int64_t i = 0; i < steps; ++i) {
    const ElementValue value = drawn(e, random, known);
    known.push_back(i % 4 == 3 ? bounded(value) : value);
  }
  const int64_t results = random.number(1, 3);
  for (int64_t i = 0; i < results; ++i) {
    e.add_result(known[known.size() - 1 - static_cast<size_t>(random.number(0, 2))]);
  }
  return e;
}

TEST(RandomExpressions, EqualTheirStepsOneByOneInFp32) {
  RandomLayouts random(23);
  for (int trial = 0; trial < 300; ++trial) {
    const char* name = std::array{"trn1", "trn2", "trn3"}[static_cast<size_t>(trial % 3)];
    SCOPED_TRACE(text("trial ", trial, " on ", name));
    const Expression expression = random_expression(random);
    const TensorSpec spec{{5, 31}, {}};
    std::vector<HostTensor> operands;
    std::vector<HostTensor*> pointers;
    std::vector<std::vector<double>> inputs;
    for (unsigned i = 0; i < kInputs; ++i) {
      operands.emplace_back(spec, random_values(155, -2, 2, i + 1));
      inputs.push_back(operands.back().values());
    }
    for (HostTensor& operand : operands) pointers.push_back(&operand);
    std::vector<HostTensor> actual =
        run_kernel(load_architecture(name), pointwise_kernel(expression), pointers,
                   std::vector<TensorSpec>(expression.results().size(), spec));
    for (size_t r = 0; r < actual.size(); ++r) {
      const std::vector<double> values = actual[r].values();
      for (size_t i = 0; i < values.size(); ++i) {
        std::vector<float> at;
        for (const auto& input : inputs) at.push_back(static_cast<float>(input[i]));
        const auto step = static_cast<size_t>(expression.results()[r]);
        const float expected = evaluated(expression, at)[step];
        ASSERT_TRUE(values[i] == expected || (std::isnan(values[i]) && std::isnan(expected)))
            << "result " << r << ", element " << i << ": " << values[i] << ", expected "
            << expected;
      }
    }
  }
}

}  // namespace
}  // namespace neuron_sim
