#pragma once
// The oracle of pointwise kernels: an expression step by step in fp32; and expressions at random.

#include <array>
#include <cmath>

#include "tests/ops/pointwise/written_expression.h"

namespace neuron_sim {

inline float combined(AluOp op, float a, float b) {
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
inline std::vector<float> evaluated(const Expression& expression,
                                    const std::vector<float>& inputs) {
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
      case ExpressionKind::kCopySign: value = std::copysign(at(step.a), at(step.b)); break;
    }
    values.push_back(value);
  }
  return values;
}

/// A random operator on values that are known already.
inline ElementValue drawn(Expression& e, RandomLayouts& random,
                          const std::vector<ElementValue>& known) {
  static const std::vector<AluOp> kOperators{AluOp::kAdd,      AluOp::kSubtract, AluOp::kMultiply,
                                             AluOp::kMaximum,  AluOp::kMinimum,  AluOp::kGreater,
                                             AluOp::kLessEqual};
  const auto pick = [&] {
    return known[static_cast<size_t>(random.number(0, static_cast<int64_t>(known.size()) - 1))];
  };
  const ElementValue a = pick(), b = pick(), c = pick();
  const ElementValue constant = e.constant(static_cast<double>(random.number(-4, 4)) / 4);
  const AluOp op = kOperators[static_cast<size_t>(random.number(0, 6))];
  switch (random.number(0, 9)) {
    case 0: return e.alu(AluOp::kAbs, a);
    case 1: return minimum(e.alu(AluOp::kSquare, a), e.constant(9));
    case 2: return call(Activation::kRelu, a);
    case 3: return select(compare(AluOp::kGreater, a, 0.25), b, c);
    case 4: return select(a, constant, b);
    case 5: return e.alu(op, constant, a);
    case 6: return e.alu(op, a, constant);
    case 7: return e.copy_sign(e.alu(AluOp::kAbs, a), b);
    default: return e.alu(op, a, b);
  }
}

/// The value or the nearer one of -50 and 50, so that none becomes infinite.
inline ElementValue bounded(ElementValue value) {
  Expression& e = value.expression();
  return maximum(minimum(value, e.constant(50)), e.constant(-50));
}

}  // namespace neuron_sim
