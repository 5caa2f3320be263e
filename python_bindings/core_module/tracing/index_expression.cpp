// The type of index expressions: arithmetic of device/tracing for Python's operators.

#include "device/base/errors.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

nb::object object_of(const IndexExpression& value) {
  if (value.is_number()) return nb::steal(PyLong_FromLongLong(value.position.constant));
  return made_object<ExpressionObject>(classes.expression, value);
}

nb::object object_of(const Position& position) {
  if (position.terms.empty()) return nb::steal(PyLong_FromLongLong(position.constant));
  return made_object<ExpressionObject>(classes.expression, IndexExpression{position, {}, {}});
}

Position position_of(PyObject* value) {
  if (value != nullptr && is_expression(value)) return expression_of(value).position;
  return integer_of(value == nullptr ? Py_None : value);
}

namespace {

/// Expression(constant, terms, steps=(), shape=()): terms is a dict loop -> coefficient.
int initialise_expression(PyObject* self, PyObject* arguments, PyObject*) {
  long long constant = 0;
  PyObject *terms = nullptr, *steps = nullptr, *shape = nullptr;
  must(PyArg_ParseTuple(arguments, "LO!|OO", &constant, &PyDict_Type, &terms, &steps, &shape) != 0);
  IndexExpression made{constant, {}, {}};
  for (auto [loop, coefficient] : nb::borrow<nb::dict>(terms)) {
    if (PyObject_TypeCheck(loop.ptr(), loop_type) == 0) wrong_type("term", "a loop", loop.ptr());
    const Term term{static_cast<LoopObject*>(loop.ptr()), integer_of(coefficient.ptr())};
    if (made.position.terms.is_full()) made.position.add(term);  // which is refused
    made.position.terms.push_back(term);
  }
  if (shape != nullptr) {
    made.steps = sizes_of(steps);
    made.shape = sizes_of(shape);
    if (made.shape.size() != made.steps.size()) fail("steps do not fit shape.");
  }
  hold(static_cast<ExpressionObject*>(self)->value(), made);
  return 0;
}

/// The value of an operand: of an expression or of a number; null of another type. Throws
/// python_error. `number`: where it is when it has to be made.
const IndexExpression* operand_of(PyObject* object, IndexExpression& number) {
  if (is_expression(object)) return &expression_of(object);
  return number_of(object, number.position.constant) ? &number : nullptr;
}

nb::object not_implemented() { return nb::borrow(Py_NotImplemented); }

/// What Python makes of an operand that is no index.
nb::object with_other(PyObject* expression, PyObject* other, const char* operation) {
  return nb::handle(expression).attr("_with_tensor_or_float")(nb::handle(other), operation);
}

/// a + b * factor; `name` and `swapped`: of the operator, for operands that Python handles.
nb::object combined(PyObject* a, PyObject* b, int64_t factor, const char* name,
                    const char* swapped) {
  if (!is_expression(a) && !is_expression(b)) return not_implemented();
  IndexExpression number;
  const IndexExpression *first = operand_of(a, number), *second = operand_of(b, number);
  if (first != nullptr && second != nullptr) return object_of(sum(*first, *second, factor));
  return is_expression(a) ? with_other(a, b, name) : with_other(b, a, swapped);
}

nb::object sum_of(PyObject* a, PyObject* b) { return combined(a, b, 1, "__add__", "__add__"); }
nb::object difference_of(PyObject* a, PyObject* b) {
  return combined(a, b, -1, "__sub__", "__rsub__");
}

nb::object product_of(PyObject* a, PyObject* b) {
  if (!is_expression(a)) std::swap(a, b);
  if (!is_expression(a)) return not_implemented();
  IndexExpression number;
  const IndexExpression* factor = operand_of(b, number);
  if (factor != nullptr) return object_of(product(expression_of(a), *factor));
  return with_other(a, b, "__mul__");
}

nb::object negative_of(PyObject* self) { return object_of(scaled(expression_of(self), -1)); }

/// An expression as a number, which raises Python's error or gives it.
nb::object as_number(PyObject* expression) {
  nb::object number = nb::steal(PyNumber_Index(expression));
  must(number.is_valid());
  return number;
}

/// use(a divided by b). Any divisor but a number needs the expression as a number.
template <class Use>
nb::object divided(PyObject* a, PyObject* b, Use use) {
  IndexExpression number;
  const bool has_number = is_expression(a) && !is_expression(b) && operand_of(b, number) != nullptr;
  if (!has_number || number.position.constant == 0) return as_number(is_expression(a) ? a : b);
  return use(divide(expression_of(a), number.position.constant));
}

nb::object quotient_of(PyObject* a, PyObject* b) {
  return divided(a, b, [](const Division& made) { return object_of(made.quotient); });
}
nb::object remainder_of(PyObject* a, PyObject* b) {
  return divided(a, b, [](const Division& made) { return object_of(made.remainder); });
}
nb::object divmod_of(PyObject* a, PyObject* b) {
  return divided(a, b, [](const Division& made) {
    return nb::make_tuple(object_of(made.quotient), object_of(made.remainder));
  });
}

nb::object compare_objects(PyObject* self, PyObject* other, int operation) {
  if (!is_expression(self)) return not_implemented();
  IndexExpression number;
  const IndexExpression* second = operand_of(other, number);
  if (second == nullptr && PyFloat_Check(other) != 0) return as_number(self);
  if (second == nullptr) return not_implemented();
  constexpr Comparison kComparisons[] = {// of Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE
                                         Comparison::kLess,    Comparison::kLessEqual,
                                         Comparison::kEqual,   Comparison::kEqual,
                                         Comparison::kGreater, Comparison::kGreaterEqual};
  auto result = compare(expression_of(self), kComparisons[operation], *second);
  const bool* is_so = std::get_if<bool>(&result);
  if (is_so != nullptr) return nb::bool_(*is_so != (operation == Py_NE));
  nb::object mask = made_object<MaskObject>(classes.mask, std::get<Mask>(std::move(result)));
  if (operation != Py_NE) return mask;
  return nb::bool_(!nb::cast<bool>(nb::bool_(mask)));  // a mask has no complement
}

nb::object terms_of(ExpressionObject& expression) {
  nb::dict terms;
  for (const Term& term : expression.position.terms) {
    terms[nb::handle(object_of(term.loop))] = term.coefficient;
  }
  return terms;
}

nb::object expression_bounds(PyObject* self, PyObject*) {
  const Bounds bounds = expression_of(self).bounds();
  return nb::make_tuple(bounds.low, bounds.high);
}

nb::object text_of_expression(PyObject* self) { return nb::cast(expression_of(self).text()); }

}  // namespace

void bind_expression(nb::module_& module) {
  using Expression = ExpressionObject;
  static PyGetSetDef properties[] = {
      property<Expression,
               [](Expression& of) -> nb::object { return nb::int_(of.position.constant); }>(
          "constant", "The value where all variables are 0."),
      property<Expression, terms_of>("terms", "dict: loop -> coefficient."),
      property<Expression, [](Expression& of) { return tuple_of(of.steps); }>(
          "steps", "Coefficient per dimension."),
      property<Expression, [](Expression& of) { return tuple_of(of.shape); }>(
          "shape", "Sizes of the dimensions."),
      property<Expression, [](Expression& of) { return nb::cast(of.position.affine()); }>(
          "affine", "What the builder takes for it."),
      {}};
  static PyMethodDef methods[] = {
      {"bounds", slot<expression_bounds>, METH_NOARGS, "The smallest and the largest value."}, {}};
  expression_type = made_type<Expression>(module, "neuron_sim._core.IndexExpression",
                                          {{Py_tp_init, pointer(slot<initialise_expression>)},
                                           {Py_tp_repr, pointer(slot<text_of_expression>)},
                                           {Py_tp_getset, properties},
                                           {Py_tp_methods, methods},
                                           {Py_tp_richcompare, pointer(slot<compare_objects>)},
                                           {Py_nb_add, pointer(slot<sum_of>)},
                                           {Py_nb_subtract, pointer(slot<difference_of>)},
                                           {Py_nb_multiply, pointer(slot<product_of>)},
                                           {Py_nb_negative, pointer(slot<negative_of>)},
                                           {Py_nb_floor_divide, pointer(slot<quotient_of>)},
                                           {Py_nb_remainder, pointer(slot<remainder_of>)},
                                           {Py_nb_divmod, pointer(slot<divmod_of>)}});
}

}  // namespace neuron_sim::tracing
