#include "device/tracing/index_expression.h"

#include "device/base/errors.h"

namespace neuron_sim::tracing {

void Position::add(const Term& term) {
  for (Term& own : terms) {
    if (own.loop != term.loop) continue;
    add_product(own.coefficient, term.coefficient, 1);
    if (own.coefficient == 0) terms.erase(&own);
    return;
  }
  if (term.coefficient == 0) return;
  if (terms.is_full()) {
    fail(text("an index expression has more than ", kMaximumTerms, " loop variables."));
  }
  terms.push_back(term);
}

void Position::add(const Position& other, int64_t factor) {
  add_product(constant, other.constant, factor);
  for (const Term& term : other.terms) {
    Term scaled_term{term.loop, 0};
    add_product(scaled_term.coefficient, term.coefficient, factor);
    add(scaled_term);
  }
}

Bounds Position::bounds() const {
  Bounds result{constant, constant};
  for (const Term& term : terms) result.add(term.coefficient, term.loop->trip_count - 1);
  return result;
}

Affine Position::affine() const {
  Affine result(constant);
  for (const Term& term : terms) result += term.loop->variable * term.coefficient;
  return result;
}

Bounds IndexExpression::bounds() const {
  Bounds result = position.bounds();
  for (size_t i = 0; i < shape.size(); ++i) result.add(steps[i], shape[i] - 1);
  return result;
}

std::string IndexExpression::text() const {
  std::string result;
  const auto append = [&](int64_t factor, const std::string& variable) {
    if (!result.empty()) result += " + ";
    if (factor != 1) result += neuron_sim::text(factor, "*");
    result += variable;
  };
  if (position.constant != 0) result = std::to_string(position.constant);
  for (const Term& term : position.terms) append(term.coefficient, term.loop->name);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (steps[i] != 0) append(steps[i], neuron_sim::text("arange(", shape[i], ")"));
  }
  return result.empty() ? "0" : result;
}

IndexExpression variable(const Loop& loop, int64_t start, int64_t step) {
  IndexExpression result{start, {}, {}};
  result.position.add(Term{&loop, step});
  return result;
}

IndexExpression arange(int64_t start, int64_t size, int64_t step) {
  return {start, {size}, {step}};
}

void broadcast(Sizes& shape, const Sizes& other) {
  Sizes both(std::max(shape.size(), other.size()), 1);
  const size_t own = both.size() - shape.size(), missing = both.size() - other.size();
  for (size_t i = 0; i < both.size(); ++i) {
    const int64_t one = i < own ? 1 : shape[i - own];
    const int64_t size = i < missing ? 1 : other[i - missing];
    if (one != size && one != 1 && size != 1) {
      fail(text("index shapes ", text_of(shape), " and ", text_of(other),
                " cannot be broadcast together."));
    }
    both[i] = one == 1 ? size : one;
  }
  shape = both;
}

IndexExpression scaled(const IndexExpression& a, int64_t factor, int64_t constant) {
  IndexExpression result{constant, a.shape, Sizes(a.shape.size(), 0)};
  result.position.add(a.position, factor);
  for (size_t i = 0; i < a.steps.size(); ++i) add_product(result.steps[i], a.steps[i], factor);
  return result;
}

IndexExpression sum(const IndexExpression& a, const IndexExpression& b, int64_t factor) {
  IndexExpression result{a.position, a.shape, {}};
  result.position.add(b.position, factor);
  broadcast(result.shape, b.shape);
  const size_t rank = result.shape.size();
  result.steps.resize(rank, 0);
  const auto add = [&](const IndexExpression& of, int64_t times) {
    const size_t missing = rank - of.shape.size();
    for (size_t i = 0; i < of.shape.size(); ++i) {
      add_product(result.steps[missing + i], of.step_in(i, result.shape[missing + i]), times);
    }
  };
  add(a, 1);
  add(b, factor);
  return result;
}

namespace {

[[noreturn]] void need_loops_of(const IndexExpression& expression) {
  LoopsNeeded needed;
  for (const Term& term : expression.position.terms) needed.loops.push_back(term.loop);
  throw needed;
}

[[noreturn]] void not_affine(const std::string& what) {
  fail(text(what, " is not an affine expression of static loop indices."));
}

/// A number in each of the dimensions of another expression.
IndexExpression constant_in(const IndexExpression& other, int64_t constant) {
  return {constant, other.shape, Sizes(other.shape.size(), 0)};
}

bool is_multiple(const IndexExpression& a, int64_t divisor) {
  const auto divides = [divisor](int64_t number) { return number % divisor == 0; };
  return std::all_of(a.steps.begin(), a.steps.end(), divides) &&
         std::all_of(a.position.terms.begin(), a.position.terms.end(),
                     [&](const Term& term) { return divides(term.coefficient); });
}

}  // namespace

IndexExpression product(const IndexExpression& a, const IndexExpression& b) {
  if (b.is_number()) return scaled(a, b.position.constant);
  if (b.shape.empty()) need_loops_of(b);
  if (a.shape.empty()) need_loops_of(a);
  not_affine(text("the product of ", a.text(), " and ", b.text()));
}

Division divide(const IndexExpression& a, int64_t divisor) {
  if (divisor == -1) return {scaled(a, -1), constant_in(a, 0)};  // whose other way overflows
  if (is_multiple(a, divisor)) {
    IndexExpression quotient = a;
    quotient.position.constant = floor_quotient(a.position.constant, divisor);
    for (int64_t& step : quotient.steps) step /= divisor;
    for (Term& term : quotient.position.terms) term.coefficient /= divisor;
    const int64_t rest = a.position.constant - quotient.position.constant * divisor;
    return {quotient, constant_in(a, rest)};
  }
  const Bounds bounds = a.bounds();
  const int64_t common = floor_quotient(bounds.low, divisor);
  if (common == floor_quotient(bounds.high, divisor)) {
    int64_t shift = 0;
    add_product(shift, -common, divisor);
    return {constant_in(a, common), scaled(a, 1, shift)};
  }
  if (!a.position.terms.empty()) need_loops_of(a);
  not_affine(text(a.text(), " divided by ", divisor));
}

std::string text_of(const Sizes& sizes) {
  std::string result = "[";
  for (const int64_t size : sizes) result += text(result.size() > 1 ? ", " : "", size);
  return result + "]";
}

}  // namespace neuron_sim::tracing
