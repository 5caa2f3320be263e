// Arithmetic of index expressions such as `i * 64 + i_f`.

#include <algorithm>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

bool too_many_terms() {
  PyErr_Format(PyExc_ValueError, "an index expression has more than %d loop variables.",
               kMaximumTerms);
  return false;
}

bool add_product(int64_t& sum, int64_t a, int64_t factor) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, factor, &product) || __builtin_add_overflow(sum, product, &sum)) {
    return overflows();
  }
  return true;
}

void add_saturated(int64_t& sum, int64_t a, int64_t factor) {
  int64_t product = 0;
  const bool rises = (a < 0) == (factor < 0);
  if (__builtin_mul_overflow(a, factor, &product) || __builtin_add_overflow(sum, product, &sum)) {
    sum = rises ? INT64_MAX : INT64_MIN;
  }
}

namespace {

template <class Sum>
bool add_term(Sum& sum, LoopObject* loop, int64_t coefficient) {
  for (int i = 0; i < sum.terms; ++i) {
    if (sum.term[i].loop != loop) continue;
    if (!add_product(sum.term[i].coefficient, coefficient, 1)) return false;
    if (sum.term[i].coefficient == 0) {
      std::copy(&sum.term[i] + 1, &sum.term[0] + sum.terms, &sum.term[i]);
      --sum.terms;
    }
    return true;
  }
  if (coefficient == 0) return true;
  if (sum.terms == kMaximumTerms) return too_many_terms();
  sum.term[sum.terms++] = {loop, coefficient};
  return true;
}

}  // namespace

ExpressionObject* new_expression() {
  PyTypeObject* type = connections.expression;
  const bool is_plain = type->tp_basicsize == sizeof(ExpressionObject) && !PyType_IS_GC(type);
  if (!is_plain) return as_expression(type->tp_alloc(type, 0));
  auto* made = PyObject_New(ExpressionObject, type);  // leaves terms and shape as they are
  if (made == nullptr) return nullptr;
  made->constant = 0;
  made->terms = made->rank = 0;
  std::fill_n(made->steps, kMaximumDimensions, 0);
  return made;
}

PyObject* finished(ExpressionObject* made, bool is_good) {
  const bool is_number = made->terms == 0 && made->rank == 0;
  if (!is_good) made->terms = 0;
  for (int i = 0; i < made->terms; ++i) Py_INCREF(made->term[i].loop);
  if (is_good && !is_number) return &made->ob_base;
  PyObject* number = is_good ? PyLong_FromLongLong(made->constant) : nullptr;
  Py_DECREF(made);
  return number;
}

PyObject* scaled(const ExpressionObject* self, int64_t factor, int64_t constant) {
  ExpressionObject* made = new_expression();
  if (made == nullptr) return nullptr;
  made->constant = constant;
  made->rank = self->rank;
  bool good = add_product(made->constant, self->constant, factor);
  for (int i = 0; i < self->terms && good; ++i) {
    int64_t coefficient = 0;
    good = add_product(coefficient, self->term[i].coefficient, factor) &&
           add_term(*made, self->term[i].loop, coefficient);
  }
  for (int i = 0; i < self->rank && good; ++i) {
    made->shape[i] = self->shape[i];
    good = add_product(made->steps[i], self->steps[i], factor);
  }
  return finished(made, good);
}

bool broadcast(int64_t* shape, int& rank, const int64_t* other, int other_rank) {
  const int longest = std::max(rank, other_rank);
  int64_t both[kMaximumDimensions];
  for (int i = 0; i < longest; ++i) {
    const int from = i - (longest - rank), from_other = i - (longest - other_rank);
    const int64_t one = from < 0 ? 1 : shape[from];
    const int64_t size = from_other < 0 ? 1 : other[from_other];
    if (one != size && one != 1 && size != 1) {
      const auto first = nanobind::steal(tuple_of(shape, rank));
      const auto second = nanobind::steal(tuple_of(other, other_rank));
      return refuse("shapes_differ", first.ptr(), second.ptr());
    }
    both[i] = one == 1 ? size : one;
  }
  rank = longest;
  std::copy_n(both, rank, shape);
  return true;
}

namespace {

/// The broadcast shape of two expressions, and the sum of their steps (the second times `factor`).
bool add_dimensions(ExpressionObject* made, const ExpressionObject* a, const ExpressionObject* b,
                    int64_t factor) {
  made->rank = a->rank;
  std::copy_n(a->shape, a->rank, made->shape);
  if (!broadcast(made->shape, made->rank, b->shape, b->rank)) return false;
  for (int i = 0; i < a->rank; ++i) {
    const int along = made->rank - a->rank + i;
    made->steps[along] = step_in(a, i, made->shape[along]);
  }
  for (int i = 0; i < b->rank; ++i) {
    const int along = made->rank - b->rank + i;
    if (!add_product(made->steps[along], step_in(b, i, made->shape[along]), factor)) return false;
  }
  return true;
}

/// a + b * factor.
PyObject* sum(const ExpressionObject* a, const ExpressionObject* b, int64_t factor) {
  ExpressionObject* made = new_expression();
  if (made == nullptr) return nullptr;
  made->constant = a->constant;
  bool good = add_product(made->constant, b->constant, factor);
  for (int i = 0; i < a->terms && good; ++i) {
    good = add_term(*made, a->term[i].loop, a->term[i].coefficient);
  }
  for (int i = 0; i < b->terms && good; ++i) {
    int64_t coefficient = 0;
    good = add_product(coefficient, b->term[i].coefficient, factor) &&
           add_term(*made, b->term[i].loop, coefficient);
  }
  return finished(made, good && add_dimensions(made, a, b, factor));
}

/// `expression.name(other)` for what is neither an integer nor an expression.
PyObject* in_python(PyObject* expression, PyObject* other, const char* operation) {
  return PyObject_CallMethod(expression, "_with_tensor_or_float", "Os", other, operation);
}

}  // namespace

PyObject* sum_of(PyObject* a, PyObject* b) {
  if (!is_expression(a)) std::swap(a, b);
  if (!is_expression(a)) Py_RETURN_NOTIMPLEMENTED;
  if (is_expression(b)) return sum(as_expression(a), as_expression(b), 1);
  int64_t number = 0;
  switch (number_of(b, number)) {
    case Number::kFound: return scaled(as_expression(a), 1, number);
    case Number::kNone: return in_python(a, b, "__add__");
    case Number::kError: break;
  }
  return nullptr;
}

PyObject* difference_of(PyObject* a, PyObject* b) {
  int64_t number = 0;
  if (!is_expression(a) && !is_expression(b)) Py_RETURN_NOTIMPLEMENTED;
  if (!is_expression(a)) {
    switch (number_of(a, number)) {
      case Number::kFound: return scaled(as_expression(b), -1, number);
      case Number::kNone: return in_python(b, a, "__rsub__");
      case Number::kError: return nullptr;
    }
  }
  if (is_expression(b)) return sum(as_expression(a), as_expression(b), -1);
  switch (number_of(b, number)) {
    case Number::kFound:
      if (__builtin_sub_overflow(int64_t{0}, number, &number)) return overflows(), nullptr;
      return scaled(as_expression(a), 1, number);
    case Number::kNone: return in_python(a, b, "__sub__");
    case Number::kError: break;
  }
  return nullptr;
}

PyObject* product_of(PyObject* a, PyObject* b) {
  if (!is_expression(a)) std::swap(a, b);
  if (!is_expression(a)) Py_RETURN_NOTIMPLEMENTED;
  if (is_expression(b)) return call_method(a, "_times_expression", b);
  int64_t number = 0;
  switch (number_of(b, number)) {
    case Number::kFound: return scaled(as_expression(a), number, 0);
    case Number::kNone: return in_python(a, b, "__mul__");
    case Number::kError: break;
  }
  return nullptr;
}

PyObject* negative_of(PyObject* self) { return scaled(as_expression(self), -1, 0); }

bool read_position(PyObject* value, Position& position) {
  position.terms = 0;
  if (value == nullptr) value = Py_None;
  if (!is_expression(value)) return read_integer(value, position.constant);
  const ExpressionObject* expression = as_expression(value);
  position.constant = expression->constant;
  position.terms = expression->terms;
  std::copy_n(expression->term, expression->terms, position.term.begin());
  return true;
}

bool add_scaled(Position& position, const Position& other, int64_t factor) {
  if (!add_product(position.constant, other.constant, factor)) return false;
  for (int i = 0; i < other.terms; ++i) {
    int64_t coefficient = 0;
    if (!add_product(coefficient, other.term[static_cast<size_t>(i)].coefficient, factor) ||
        !add_term(position, other.term[static_cast<size_t>(i)].loop, coefficient)) {
      return false;
    }
  }
  return true;
}

PyObject* position_object(const Position& position) {
  if (position.terms == 0) return PyLong_FromLongLong(position.constant);
  ExpressionObject* made = new_expression();
  if (made == nullptr) return nullptr;
  made->constant = position.constant;
  made->terms = position.terms;
  std::copy_n(position.term.begin(), position.terms, made->term);
  return finished(made, true);
}

void bounds_of(const Position& position, int64_t& low, int64_t& high) {
  low = high = position.constant;
  for (int i = 0; i < position.terms; ++i) {
    const Term& term = position.term[static_cast<size_t>(i)];
    add_saturated(term.coefficient < 0 ? low : high, term.coefficient, term.loop->trip_count - 1);
  }
}

void bounds_of(const ExpressionObject* expression, int64_t& low, int64_t& high) {
  Position position;
  position.constant = expression->constant;
  position.terms = expression->terms;
  std::copy_n(expression->term, expression->terms, position.term.begin());
  bounds_of(position, low, high);
  for (int i = 0; i < expression->rank; ++i) {
    add_saturated(expression->steps[i] < 0 ? low : high, expression->steps[i],
                  expression->shape[i] - 1);
  }
}

}  // namespace neuron_sim::tracing
