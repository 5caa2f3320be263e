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

/// a + b * factor; `name` and `swapped`: of the operator, for operands that Python handles.
PyObject* combined(PyObject* a, PyObject* b, int64_t factor, const char* name,
                   const char* swapped) {
  if (!is_expression(a) && !is_expression(b)) Py_RETURN_NOTIMPLEMENTED;
  IndexExpression number;
  const IndexExpression *first = operand_of(a, number), *second = operand_of(b, number);
  if (first != nullptr && second != nullptr) {
    return object_of(sum(*first, *second, factor)).release().ptr();
  }
  if (!is_expression(a)) return PyObject_CallMethod(b, "_with_tensor_or_float", "Os", a, swapped);
  return PyObject_CallMethod(a, "_with_tensor_or_float", "Os", b, name);
}

PyObject* sum_of(PyObject* a, PyObject* b) { return combined(a, b, 1, "__add__", "__add__"); }
PyObject* difference_of(PyObject* a, PyObject* b) {
  return combined(a, b, -1, "__sub__", "__rsub__");
}

PyObject* product_of(PyObject* a, PyObject* b) {
  if (!is_expression(a)) std::swap(a, b);
  if (!is_expression(a)) Py_RETURN_NOTIMPLEMENTED;
  IndexExpression number;
  const IndexExpression* factor = operand_of(b, number);
  if (factor != nullptr) return object_of(product(expression_of(a), *factor)).release().ptr();
  return PyObject_CallMethod(a, "_with_tensor_or_float", "Os", b, "__mul__");
}

PyObject* negative_of(PyObject* self) {
  return object_of(scaled(expression_of(self), -1)).release().ptr();
}

/// a divided by b. Any divisor but a number needs the expression as a number.
bool divided(PyObject* a, PyObject* b, Division& division) {
  IndexExpression number;
  const bool has_number = is_expression(a) && !is_expression(b) && operand_of(b, number) != nullptr;
  if (!has_number || number.position.constant == 0) return false;
  division = divide(expression_of(a), number.position.constant);
  return true;
}

PyObject* needed(PyObject* a, PyObject* b) { return PyNumber_Index(is_expression(a) ? a : b); }

PyObject* quotient_of(PyObject* a, PyObject* b) {
  Division made;
  return divided(a, b, made) ? object_of(made.quotient).release().ptr() : needed(a, b);
}
PyObject* remainder_of(PyObject* a, PyObject* b) {
  Division made;
  return divided(a, b, made) ? object_of(made.remainder).release().ptr() : needed(a, b);
}
PyObject* divmod_of(PyObject* a, PyObject* b) {
  Division made;
  if (!divided(a, b, made)) return needed(a, b);
  return nb::make_tuple(object_of(made.quotient), object_of(made.remainder)).release().ptr();
}

nb::object compared(const IndexExpression& a, Comparison comparison, const IndexExpression& b) {
  auto result = compare(a, comparison, b);
  if (const bool* is_so = std::get_if<bool>(&result)) return nb::bool_(*is_so);
  return made_object<MaskObject>(classes.mask, std::get<Mask>(std::move(result)));
}

PyObject* compare_objects(PyObject* self, PyObject* other, int operation) {
  if (!is_expression(self)) Py_RETURN_NOTIMPLEMENTED;
  IndexExpression number;
  const IndexExpression* second = operand_of(other, number);
  if (second == nullptr && PyFloat_Check(other) != 0) return PyNumber_Index(self);
  if (second == nullptr) Py_RETURN_NOTIMPLEMENTED;
  const auto with = [&](Comparison how) { return compared(expression_of(self), how, *second); };
  switch (operation) {
    case Py_LT: return with(Comparison::kLess).release().ptr();
    case Py_LE: return with(Comparison::kLessEqual).release().ptr();
    case Py_GT: return with(Comparison::kGreater).release().ptr();
    case Py_GE: return with(Comparison::kGreaterEqual).release().ptr();
    case Py_EQ: return with(Comparison::kEqual).release().ptr();
    default: break;
  }
  const int is_equal = PyObject_IsTrue(with(Comparison::kEqual).ptr());  // a mask has no complement
  return is_equal < 0 ? nullptr : PyBool_FromLong(is_equal == 0 ? 1 : 0);
}

nb::object terms_of(ExpressionObject& expression) {
  nb::dict terms;
  for (const Term& term : expression.position.terms) {
    terms[nb::handle(object_of(term.loop))] = term.coefficient;
  }
  return terms;
}

PyObject* expression_bounds(PyObject* self, PyObject*) {
  const Bounds bounds = expression_of(self).bounds();
  return nb::make_tuple(bounds.low, bounds.high).release().ptr();
}

PyObject* text_of_expression(PyObject* self) {
  return nb::cast(expression_of(self).text()).release().ptr();
}

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
