#pragma once
// The computation of a pointwise kernel per element: a small program over the engines' operators.
// One row of the operator table writes one; neighbouring operators of a graph are joined into one.

#include <cstdint>
#include <utility>
#include <vector>

#include "device/numerics/dtype.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// How the elements of an expression are computed.
enum class Domain : uint8_t {
  kFloat,    ///< in fp32; every operator rounds once, results round once more to their dtype
  kInteger,  ///< in int32, modulo 2^32; results keep their low bits, as torch's integers wrap
};

enum class ExpressionKind : uint8_t {
  kInput,       ///< element of operand `input`
  kConstant,    ///< `constant`
  kAlu,         ///< a `alu` b; unary operators have no b
  kActivation,  ///< `activation` of a
  kSelect,      ///< b where a is not zero, else c
  kRound,       ///< a rounded to an integer, ties to even, for |a| < 2^31 (through int32)
  kCopySign,    ///< a with the sign bit of b set where b has it; a is not negative elsewhere
};

/// One value of an expression; a, b, c are indices of earlier steps, or -1.
struct ExpressionStep {
  ExpressionKind kind = ExpressionKind::kConstant;
  AluOp alu = AluOp::kNone;
  Activation activation = Activation::kIdentity;
  int a = -1, b = -1, c = -1;
  int input = -1;
  double constant = 0;
  bool operator==(const ExpressionStep&) const = default;
};

class Expression;

/// A step of an expression under construction; arithmetic on it appends steps.
class ElementValue {
 public:
  ElementValue(Expression& expression, int step) : expression_(&expression), step_(step) {}
  Expression& expression() const { return *expression_; }
  int step() const { return step_; }

 private:
  Expression* expression_;
  int step_;
};

/// An expression split into its structure and its constants.
struct ExpressionForm {
  /// Equal exactly for expressions that differ only in constants.
  std::vector<int64_t> structure;
  std::vector<double> constants;  ///< that results depend on, in the order of their steps
};

/// Steps in the order of evaluation, and which of them are results.
class Expression {
 public:
  explicit Expression(Domain domain = Domain::kFloat) : domain_(domain) {}

  ElementValue input(int index);
  ElementValue constant(double value);
  /// Constants are folded (in fp32, as the engines would compute them; exactly in kInteger).
  ElementValue alu(AluOp op, ElementValue a, ElementValue b);
  ElementValue alu(AluOp op, ElementValue a);
  ElementValue activation(Activation function, ElementValue a);
  ElementValue select(ElementValue condition, ElementValue when_true, ElementValue when_false);
  ElementValue round(ElementValue a);
  /// `magnitude` with the sign of `sign`, that of a zero or a NaN too. A magnitude may be negative
  /// where `sign` is.
  ElementValue copy_sign(ElementValue magnitude, ElementValue sign);
  void add_result(ElementValue value) { results_.push_back(value.step()); }

  Domain domain() const { return domain_; }
  const std::vector<ExpressionStep>& steps() const { return steps_; }
  const std::vector<int>& results() const { return results_; }
  bool is_constant(ElementValue value) const {
    return steps_[static_cast<size_t>(value.step())].kind == ExpressionKind::kConstant;
  }
  double value_of(ElementValue constant) const {
    return steps_[static_cast<size_t>(constant.step())].constant;
  }
  /// Whether its (first) result is an unchanged input.
  bool is_operand() const {
    return steps_[static_cast<size_t>(results_.front())].kind == ExpressionKind::kInput;
  }
  /// Numbers that are equal exactly for equal expressions: for the cache key of a compiled kernel.
  std::vector<int64_t> key() const;
  ExpressionForm form() const;
  /// The expression of the same structure with these constants.
  Expression with_constants(const std::vector<double>& constants) const;

 private:
  /// Per step, whether a result depends on it.
  std::vector<bool> needed() const;
  /// Appends the step, or finds an equal one.
  ElementValue append(const ExpressionStep& step);

  Domain domain_;
  std::vector<ExpressionStep> steps_;
  std::vector<int> results_;
};

/// An expression and its form, found once for many calls.
struct FormedExpression {
  explicit FormedExpression(Expression formed)
      : expression(std::move(formed)), form(expression.form()) {}
  Expression expression;
  ExpressionForm form;
};

ElementValue operator+(ElementValue a, ElementValue b);
ElementValue operator-(ElementValue a, ElementValue b);
ElementValue operator*(ElementValue a, ElementValue b);
ElementValue operator/(ElementValue a, ElementValue b);
ElementValue operator-(ElementValue a);
ElementValue operator+(ElementValue a, double b);
ElementValue operator-(ElementValue a, double b);
ElementValue operator-(double a, ElementValue b);
ElementValue operator*(ElementValue a, double b);
ElementValue operator/(double a, ElementValue b);

ElementValue maximum(ElementValue a, ElementValue b);
ElementValue minimum(ElementValue a, ElementValue b);
/// 1 where the comparison holds, else 0.
ElementValue compare(AluOp op, ElementValue a, ElementValue b);
ElementValue compare(AluOp op, ElementValue a, double b);
ElementValue select(ElementValue condition, ElementValue when_true, ElementValue when_false);
ElementValue call(Activation function, ElementValue a);

}  // namespace neuron_sim
