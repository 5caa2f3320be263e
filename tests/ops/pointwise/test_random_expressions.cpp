// Expressions made at random: joined instructions and shared slots change no value.

#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {
namespace {

constexpr int kInputs = 3;

float combined(AluOp op, float a, float b) {
  switch (op) {
    case AluOp::kAdd: return a + b;
    case AluOp::kSubtract: return a - b;
    case AluOp::kMultiply: return a * b;
    case AluOp::kMaximum: return std::max(a, b);
    case AluOp::kMinimum: return std::min(a, b);
    case AluOp::kGreater: return a > b ? 1.0F : 0.0F;
    case AluOp::kLessEqual: return a <= b ? 1.0F : 0.0F;
    case AluOp::kAbs: return std::abs(a);
    case AluOp::kSquare: return a * a;
    default: ADD_FAILURE() << "an operator that is not drawn"; return 0;
  }
}

/// Every step one by one in fp32.
std::vector<float> evaluated(const Expression& expression, const std::vector<float>& inputs) {
  std::vector<float> values;
  const auto at = [&](int step) { return step < 0 ? 0.0F : values[static_cast<size_t>(step)]; };
  for (const ExpressionStep& step : expression.steps()) {
    float value = 0;
    switch (step.kind) {
      case ExpressionKind::kInput: value = inputs[static_cast<size_t>(step.input)]; break;
      case ExpressionKind::kConstant: value = static_cast<float>(step.constant); break;
      case ExpressionKind::kAlu: value = combined(step.alu, at(step.a), at(step.b)); break;
      case ExpressionKind::kActivation: value = std::max(at(step.a), 0.0F); break;  // relu
      case ExpressionKind::kSelect: value = at(step.a) != 0 ? at(step.b) : at(step.c); break;
      case ExpressionKind::kRound: value = std::nearbyint(at(step.a)); break;
    }
    values.push_back(value);
  }
  return values;
}

ElementValue drawn(Expression& e, RandomLayouts& random, const std::vector<ElementValue>& known) {
  static const std::vector<AluOp> kOperators{AluOp::kAdd,      AluOp::kSubtract, AluOp::kMultiply,
                                             AluOp::kMaximum,  AluOp::kMinimum,  AluOp::kGreater,
                                             AluOp::kLessEqual};
  const auto pick = [&] {
    return known[static_cast<size_t>(random.number(0, static_cast<int64_t>(known.size()) - 1))];
  };
  const ElementValue a = pick(), b = pick(), c = pick();
  const ElementValue constant = e.constant(static_cast<double>(random.number(-4, 4)) / 4);
  const AluOp op = kOperators[static_cast<size_t>(random.number(0, 6))];
  switch (random.number(0, 8)) {
    case 0: return e.alu(AluOp::kAbs, a);
    case 1: return minimum(e.alu(AluOp::kSquare, a), e.constant(9));
    case 2: return call(Activation::kRelu, a);
    case 3: return select(compare(AluOp::kGreater, a, 0.25), b, c);
    case 4: return select(a, constant, b);
    case 5: return e.alu(op, constant, a);
    case 6: return e.alu(op, a, constant);
    default: return e.alu(op, a, b);
  }
}

Expression random_expression(RandomLayouts& random) {
  Expression e;
  std::vector<ElementValue> known;
  for (int i = 0; i < kInputs; ++i) known.push_back(e.input(i));
  const int64_t steps = random.number(1, 25);
  for (int64_t i = 0; i < steps; ++i) {
    // Values stay small, so that none becomes infinite.
    const ElementValue value = drawn(e, random, known);
    known.push_back(i % 4 == 3 ? maximum(minimum(value, e.constant(50)), e.constant(-50)) : value);
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
