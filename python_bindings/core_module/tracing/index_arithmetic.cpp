// Arithmetic of index expressions such as `i * 64 + i_f`.

#include <algorithm>
#include <string>

#include "python_bindings/core_module/tracing/traced_objects.h"

namespace neuron_sim::tracing {

bool too_many_terms() {
  PyErr_Format(PyExc_ValueError, "an index expression has more than %d loop variables.",
               kMaximumTerms);
  return false;
}

namespace {

bool overflows() {
  PyErr_SetString(PyExc_OverflowError, "an index expression is beyond 64 bits.");
  return false;
}

}  // namespace

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

ExpressionObject* new_expression() {
  PyTypeObject* type = connections.expression;
  return as_expression(type->tp_alloc(type, 0));
}

/// Ends the work on a new expression: its terms own their loops from here on, and one that is a
/// plain number becomes an int.
PyObject* finished(ExpressionObject* made, bool is_good) {
  const bool is_number = made->terms == 0 && made->rank == 0;
  if (!is_good) made->terms = 0;
  for (int i = 0; i < made->terms; ++i) Py_INCREF(made->term[i].loop);
  if (is_good && !is_number) return &made->ob_base;
  PyObject* number = is_good ? PyLong_FromLongLong(made->constant) : nullptr;
  Py_DECREF(made);
  return number;
}

/// self * factor + constant.
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

std::string written(const ExpressionObject* self) {
  std::string list = "[";
  for (int i = 0; i < self->rank; ++i) {
    list += (i == 0 ? "" : ", ") + std::to_string(self->shape[i]);
  }
  return list + "]";
}

/// The broadcast shape of two expressions, and the sum of their steps (the second times `factor`).
bool add_dimensions(ExpressionObject* made, const ExpressionObject* a, const ExpressionObject* b,
                    int64_t factor) {
  made->rank = std::max(a->rank, b->rank);
  for (int i = 0; i < made->rank; ++i) {
    const int from_a = i - (made->rank - a->rank), from_b = i - (made->rank - b->rank);
    const int64_t one = from_a < 0 ? 1 : a->shape[from_a];
    const int64_t other = from_b < 0 ? 1 : b->shape[from_b];
    if (one != other && one != 1 && other != 1) {
      PyErr_Format(PyExc_ValueError, "index shapes %s and %s cannot be broadcast together.",
                   written(a).c_str(), written(b).c_str());
      return false;
    }
    made->shape[i] = one == 1 ? other : one;
    made->steps[i] = from_a < 0 ? 0 : a->steps[from_a];
    if (from_b >= 0 && !add_product(made->steps[i], b->steps[from_b], factor)) return false;
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

enum class Number { kNone, kFound, kError };

/// The int that a Python or NumPy integer is.
Number number_of(PyObject* value, int64_t& number) {
  if (PyLong_CheckExact(value) == 0) {
    if (PyFloat_Check(value) != 0 || PyIndex_Check(value) == 0) return Number::kNone;
    PyObject* index = PyNumber_Index(value);
    if (index == nullptr) {
      if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return Number::kError;
      PyErr_Clear();
      return Number::kNone;
    }
    const Number found = number_of(index, number);
    Py_DECREF(index);
    return found;
  }
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return Number::kFound;
  overflows();
  return Number::kError;
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

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (!is_expression(self)) Py_RETURN_NOTIMPLEMENTED;
  static const char* operators[] = {"<", "<=", "==", "!=", ">", ">="};
  const bool is_order = operation != Py_EQ && operation != Py_NE;
  if (!is_order || (PyLong_CheckExact(other) == 0 && !is_expression(other))) {
    return PyObject_CallMethod(self, "_compared", "Os", other, operators[operation]);
  }
  // What has to be at least 0: the larger side less the smaller one, less 1 if they must differ.
  const bool is_less = operation == Py_LT || operation == Py_LE;
  PyObject* difference = is_less ? difference_of(other, self) : difference_of(self, other);
  if (difference != nullptr && (operation == Py_LT || operation == Py_GT)) {
    static PyObject* one = PyLong_FromLong(1);
    PyObject* less = PyNumber_Subtract(difference, one);
    Py_DECREF(difference);
    difference = less;
  }
  if (difference == nullptr) return nullptr;
  if (!is_expression(difference)) {
    const bool holds = PyLong_AsLongLong(difference) >= 0;
    Py_DECREF(difference);
    return PyBool_FromLong(holds ? 1 : 0);
  }
  PyObject* mask = connections.mask->tp_alloc(connections.mask, 0);
  PyObject* conditions = PyTuple_Pack(1, difference);
  Py_DECREF(difference);
  if (mask == nullptr || conditions == nullptr) {
    Py_XDECREF(mask);
    Py_XDECREF(conditions);
    return nullptr;
  }
  reinterpret_cast<MaskObject*>(mask)->field[MaskObject::kConditions] = conditions;
  return mask;
}

bool read_position(PyObject* value, Position& position) {
  if (PyLong_CheckExact(value) != 0) {
    int overflow = 0;
    position.constant = PyLong_AsLongLongAndOverflow(value, &overflow);
    position.terms = 0;
    return overflow == 0;
  }
  if (!is_expression(value)) return false;
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
