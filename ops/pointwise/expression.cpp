#include "ops/pointwise/expression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr size_t kMaximumSteps = (1 << 21) - 1;

bool constants_equal(double a, double b) {
  return std::bit_cast<int64_t>(a) == std::bit_cast<int64_t>(b);
}

/// What differs most often is compared first: expressions are made anew in each call.
inline bool same(const ExpressionStep& a, const ExpressionStep& b) {
  return a.a == b.a && a.b == b.b && constants_equal(a.constant, b.constant) && a.alu == b.alu &&
         a.kind == b.kind && a.activation == b.activation && a.c == b.c && a.input == b.input;
}

/// Nothing checks a launch constant later: tiles of integers hold 32 bits.
double checked(Domain domain, double constant) {
  if (domain == Domain::kInteger &&
      !(constant >= std::numeric_limits<int32_t>::min() &&
        constant <= std::numeric_limits<int32_t>::max() && constant == std::floor(constant))) {
    fail(text("constant ", constant, " of an integer expression must be an integer of 32 bits."));
  }
  return constant;
}

double folded(Domain domain, AluOp op, double a, double b) {
  if (domain == Domain::kInteger && is_exact_on_integers(op)) {
    return static_cast<double>(
        static_cast<int32_t>(apply(op, static_cast<int64_t>(a), static_cast<int64_t>(b))));
  }
  return apply(op, static_cast<float>(a), static_cast<float>(b));
}

/// Appends two numbers that are equal exactly for steps that differ at most in their constants:
/// what a step does, and its operands in 21 bits each.
void add_structure(std::vector<int64_t>& numbers, const ExpressionStep& step) {
  const auto place = [](int operand, int shift) { return int64_t{operand + 1} << shift; };
  const int64_t functions = static_cast<int64_t>(step.kind) | static_cast<int64_t>(step.alu) << 8 |
                            static_cast<int64_t>(step.activation) << 16;
  numbers.push_back(functions | place(step.input, 32));
  numbers.push_back(place(step.a, 0) | place(step.b, 21) | place(step.c, 42));
}

}  // namespace

ElementValue Expression::append(const ExpressionStep& step) {
  const auto found = std::find_if(steps_.begin(), steps_.end(),
                                  [&](const ExpressionStep& known) { return same(known, step); });
  if (found != steps_.end()) return {*this, static_cast<int>(found - steps_.begin())};
  require(steps_.size() < kMaximumSteps, "an expression has places for its operands' numbers");
  steps_.push_back(step);
  return {*this, static_cast<int>(steps_.size()) - 1};
}

ElementValue Expression::input(int index) {
  return append({.kind = ExpressionKind::kInput, .input = index});
}

ElementValue Expression::constant(double value) {
  return append({.kind = ExpressionKind::kConstant, .constant = value});
}

ElementValue Expression::alu(AluOp op, ElementValue a, ElementValue b) {
  require(!is_unary(op), "an operator on two operands");
  if (is_constant(a) && is_constant(b) && !is_bitwise(op)) {
    return constant(folded(domain_, op, value_of(a), value_of(b)));
  }
  return append({.kind = ExpressionKind::kAlu, .alu = op, .a = a.step(), .b = b.step()});
}

ElementValue Expression::alu(AluOp op, ElementValue a) {
  require(is_unary(op), "an operator on one operand");
  if (is_constant(a) && !is_bitwise(op)) return constant(folded(domain_, op, value_of(a), 0));
  return append({.kind = ExpressionKind::kAlu, .alu = op, .a = a.step()});
}

ElementValue Expression::activation(Activation function, ElementValue a) {
  require(domain_ == Domain::kFloat, "activation functions are of the float domain");
  if (is_constant(a)) {
    float value = static_cast<float>(value_of(a));
    apply(function, &value, &value, 1);
    return constant(value);
  }
  return append({.kind = ExpressionKind::kActivation, .activation = function, .a = a.step()});
}

ElementValue Expression::select(ElementValue condition, ElementValue when_true,
                                ElementValue when_false) {
  if (is_constant(condition)) return value_of(condition) != 0 ? when_true : when_false;
  return append({.kind = ExpressionKind::kSelect,
                 .a = condition.step(),
                 .b = when_true.step(),
                 .c = when_false.step()});
}

ElementValue Expression::round(ElementValue a) {
  return append({.kind = ExpressionKind::kRound, .a = a.step()});
}

ElementValue Expression::copy_sign(ElementValue magnitude, ElementValue sign) {
  require(domain_ == Domain::kFloat, "signs of zero are of the float domain");
  return append({.kind = ExpressionKind::kCopySign, .a = magnitude.step(), .b = sign.step()});
}

std::vector<bool> Expression::needed() const {
  std::vector<bool> needed(steps_.size());
  for (const int result : results_) needed[static_cast<size_t>(result)] = true;
  for (size_t i = steps_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int operand : {steps_[i].a, steps_[i].b, steps_[i].c}) {
      if (operand >= 0) needed[static_cast<size_t>(operand)] = true;
    }
  }
  return needed;
}

ExpressionForm Expression::form() const {
  const std::vector<bool> needed = this->needed();
  ExpressionForm form;
  form.structure.reserve(2 + 2 * steps_.size() + results_.size());
  form.structure = {static_cast<int64_t>(domain_), static_cast<int64_t>(steps_.size())};
  for (size_t i = 0; i < steps_.size(); ++i) {
    const ExpressionStep& step = steps_[i];
    add_structure(form.structure, step);
    if (needed[i] && step.kind == ExpressionKind::kConstant) {
      form.constants.push_back(checked(domain_, step.constant));
    }
  }
  form.structure.insert(form.structure.end(), results_.begin(), results_.end());
  return form;
}

Expression Expression::with_constants(const std::vector<double>& constants) const {
  const std::vector<bool> needed = this->needed();
  Expression result = *this;
  size_t next = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!needed[i] || steps_[i].kind != ExpressionKind::kConstant) continue;
    require(next < constants.size(), "an expression has a number for each of its constants");
    result.steps_[i].constant = constants[next++];
  }
  return result;
}

std::vector<int64_t> Expression::key() const {
  std::vector<int64_t> key;
  key.reserve(2 + 3 * steps_.size() + results_.size());
  key = {static_cast<int64_t>(domain_), static_cast<int64_t>(steps_.size())};
  for (const ExpressionStep& step : steps_) {
    add_structure(key, step);
    key.push_back(std::bit_cast<int64_t>(step.constant));
  }
  key.insert(key.end(), results_.begin(), results_.end());
  return key;
}

ElementValue operator+(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kAdd, a, b);
}
ElementValue operator-(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kSubtract, a, b);
}
ElementValue operator*(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kMultiply, a, b);
}
ElementValue operator/(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kDivide, a, b);
}
ElementValue operator-(ElementValue a) { return a * -1.0; }
ElementValue operator+(ElementValue a, double b) { return a + a.expression().constant(b); }
ElementValue operator-(ElementValue a, double b) { return a - a.expression().constant(b); }
ElementValue operator-(double a, ElementValue b) { return b.expression().constant(a) - b; }
ElementValue operator*(ElementValue a, double b) { return a * a.expression().constant(b); }
ElementValue operator/(double a, ElementValue b) { return b.expression().constant(a) / b; }

ElementValue maximum(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kMaximum, a, b);
}
ElementValue minimum(ElementValue a, ElementValue b) {
  return a.expression().alu(AluOp::kMinimum, a, b);
}
ElementValue compare(AluOp op, ElementValue a, ElementValue b) {
  return a.expression().alu(op, a, b);
}
ElementValue compare(AluOp op, ElementValue a, double b) {
  return compare(op, a, a.expression().constant(b));
}
ElementValue select(ElementValue condition, ElementValue when_true, ElementValue when_false) {
  return condition.expression().select(condition, when_true, when_false);
}
ElementValue call(Activation function, ElementValue a) {
  return a.expression().activation(function, a);
}

}  // namespace neuron_sim
