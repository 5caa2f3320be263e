// Comparisons of index expressions, which are masks, and their quotients by numbers.

#include <algorithm>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {
namespace {

/// The Mask of conditions, whose references it takes.
PyObject* mask_of(PyObject* condition, PyObject* second = nullptr) {
  PyObject* mask = connections.mask->tp_alloc(connections.mask, 0);
  PyObject* conditions =
      second == nullptr ? PyTuple_Pack(1, condition) : PyTuple_Pack(2, condition, second);
  Py_DECREF(condition);
  Py_XDECREF(second);
  if (mask == nullptr || conditions == nullptr) {
    Py_XDECREF(mask);
    Py_XDECREF(conditions);
    return nullptr;
  }
  reinterpret_cast<MaskObject*>(mask)->field[MaskObject::kConditions] = conditions;
  return mask;
}

/// a == b: the difference is at least 0, and so is its negative; or a bool.
PyObject* equal(PyObject* a, PyObject* b) {
  PyObject* difference = difference_of(a, b);
  if (difference == nullptr) return nullptr;
  if (is_expression(difference)) {
    PyObject* negative = negative_of(difference);
    if (negative != nullptr) return mask_of(difference, negative);
    Py_DECREF(difference);
    return nullptr;
  }
  const bool is_zero = PyObject_IsTrue(difference) == 0;
  Py_DECREF(difference);
  return PyBool_FromLong(is_zero ? 1 : 0);
}

/// a != b as a bool: a mask has no complement.
PyObject* differ(PyObject* a, PyObject* b) {
  PyObject* same = equal(a, b);
  const int holds = same == nullptr ? -1 : PyObject_IsTrue(same);
  Py_XDECREF(same);
  return holds < 0 ? nullptr : PyBool_FromLong(holds == 0 ? 1 : 0);
}

/// A constant expression with the dimensions of another.
PyObject* constant_in(const ExpressionObject* other, int64_t constant) {
  ExpressionObject* made = new_expression();
  if (made == nullptr) return nullptr;
  made->constant = constant;
  made->rank = other->rank;
  std::copy_n(other->shape, other->rank, made->shape);
  return finished(made, true);
}

/// The quotient when all coefficients are multiples of the divisor.
PyObject* exact_quotient(const ExpressionObject* self, int64_t divisor) {
  ExpressionObject* made = new_expression();
  if (made == nullptr) return nullptr;
  made->constant = floor_quotient(self->constant, divisor);
  made->rank = self->rank;
  std::copy_n(self->shape, self->rank, made->shape);
  for (int i = 0; i < self->rank; ++i) made->steps[i] = self->steps[i] / divisor;
  for (; made->terms < self->terms; ++made->terms) {
    const Term& term = self->term[made->terms];
    made->term[made->terms] = {term.loop, term.coefficient / divisor};
  }
  return finished(made, true);
}

bool is_multiple(const ExpressionObject* self, int64_t divisor) {
  const auto divides = [divisor](int64_t number) { return number % divisor == 0; };
  return std::all_of(self->steps, self->steps + self->rank, divides) &&
         std::all_of(self->term, self->term + self->terms,
                     [&](const Term& term) { return divides(term.coefficient); });
}

}  // namespace

bool divide(PyObject* self, int64_t divisor, PyObject*& quotient, PyObject*& remainder) {
  const ExpressionObject* expression = as_expression(self);
  if (divisor == -1) {
    quotient = negative_of(self);
    remainder = constant_in(expression, 0);
  } else if (is_multiple(expression, divisor)) {
    const int64_t whole = floor_quotient(expression->constant, divisor) * divisor;
    quotient = exact_quotient(expression, divisor);
    remainder = constant_in(expression, expression->constant - whole);
  } else {
    int64_t low = 0, high = 0, shift = 0;
    bounds_of(expression, low, high);
    const int64_t common = floor_quotient(low, divisor);
    if (common != floor_quotient(high, divisor)) return refuse("inexact_division", self, divisor);
    if (!add_product(shift, -common, divisor)) return false;
    quotient = constant_in(expression, common);
    remainder = scaled(expression, 1, shift);
  }
  return quotient != nullptr && remainder != nullptr;
}

namespace {

enum class Wanted { kQuotient, kRemainder, kBoth };

/// Any divisor but a number needs the expression as a number.
PyObject* divided(PyObject* a, PyObject* b, Wanted wanted) {
  int64_t divisor = 0;
  const bool has_number = is_expression(a) && !is_expression(b);
  const Number found = has_number ? number_of(b, divisor) : Number::kNone;
  if (found == Number::kError) return nullptr;
  if (found != Number::kFound || divisor == 0) return PyNumber_Index(is_expression(a) ? a : b);
  PyObject *quotient = nullptr, *remainder = nullptr, *result = nullptr;
  if (divide(a, divisor, quotient, remainder)) {
    if (wanted == Wanted::kBoth) return Py_BuildValue("(NN)", quotient, remainder);
    result = Py_NewRef(wanted == Wanted::kQuotient ? quotient : remainder);
  }
  Py_XDECREF(quotient);
  Py_XDECREF(remainder);
  return result;
}

}  // namespace

PyObject* quotient_of(PyObject* a, PyObject* b) { return divided(a, b, Wanted::kQuotient); }
PyObject* remainder_of(PyObject* a, PyObject* b) { return divided(a, b, Wanted::kRemainder); }
PyObject* divmod_of(PyObject* a, PyObject* b) { return divided(a, b, Wanted::kBoth); }

namespace {

/// What has to be at least 0 for `self` to compare so with a number: the larger side minus the
/// smaller one, minus 1 if they must differ. Null without an error for huge ones.
PyObject* margin(const ExpressionObject* self, int64_t number, int operation) {
  constexpr int64_t kHuge = int64_t{1} << 61;
  const auto is_huge = [](int64_t each) { return each > kHuge || each < -kHuge; };
  if (is_huge(number) || is_huge(self->constant)) return nullptr;
  const int64_t least = operation == Py_LT || operation == Py_GT ? 1 : 0;
  const bool is_less = operation == Py_LT || operation == Py_LE;
  return is_less ? scaled(self, -1, number - least) : scaled(self, 1, -number - least);
}

/// The margin of any two, of which one is an expression; null with an error.
PyObject* margin(PyObject* self, PyObject* other, int operation) {
  const bool is_less = operation == Py_LT || operation == Py_LE;
  PyObject* difference = is_less ? difference_of(other, self) : difference_of(self, other);
  if (difference == nullptr || (operation != Py_LT && operation != Py_GT)) return difference;
  static PyObject* one = PyLong_FromLong(1);
  PyObject* less = PyNumber_Subtract(difference, one);
  Py_DECREF(difference);
  return less;
}

}  // namespace

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (!is_expression(self)) Py_RETURN_NOTIMPLEMENTED;
  int64_t number = 0;
  const bool has_number = !is_expression(other);
  if (has_number) {
    const Number found = number_of(other, number);
    if (found == Number::kError) return nullptr;
    if (found == Number::kNone && PyFloat_Check(other) != 0) return PyNumber_Index(self);
    if (found == Number::kNone) Py_RETURN_NOTIMPLEMENTED;
  }
  if (operation == Py_EQ) return equal(self, other);
  if (operation == Py_NE) return differ(self, other);
  PyObject* least = has_number ? margin(as_expression(self), number, operation) : nullptr;
  if (least == nullptr && PyErr_Occurred() == nullptr) least = margin(self, other, operation);
  if (least == nullptr || is_expression(least)) return least == nullptr ? nullptr : mask_of(least);
  const bool holds = PyLong_AsLongLong(least) >= 0;
  Py_DECREF(least);
  return PyBool_FromLong(holds ? 1 : 0);
}

}  // namespace neuron_sim::tracing
