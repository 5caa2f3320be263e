// The type of index expressions; index_arithmetic.cpp has their sums and products.

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace neuron_sim::tracing {
namespace {

/// Expression(constant, terms, steps=(), shape=()): terms is a dict loop -> coefficient.
int initialise(PyObject* self, PyObject* arguments, PyObject*) {
  long long constant = 0;
  PyObject *terms = nullptr, *steps = nullptr, *shape = nullptr;
  if (PyArg_ParseTuple(arguments, "LO!|OO", &constant, &PyDict_Type, &terms, &steps, &shape) == 0) {
    return -1;
  }
  ExpressionObject* made = as_expression(self);
  made->constant = constant;
  while (made->terms > 0) Py_DECREF(made->term[--made->terms].loop);  // of an earlier call
  made->rank = 0;
  Py_ssize_t at = 0;
  PyObject *loop = nullptr, *coefficient = nullptr;
  while (PyDict_Next(terms, &at, &loop, &coefficient) != 0) {
    const long long factor = PyLong_AsLongLong(coefficient);
    if (factor == -1 && PyErr_Occurred() != nullptr) return -1;
    if (made->terms == kMaximumTerms) return too_many_terms(), -1;
    if (PyObject_TypeCheck(loop, loop_type) == 0) {
      PyErr_SetString(PyExc_TypeError, "a term of an index expression is not of a loop.");
      return -1;
    }
    made->term[made->terms++] = {reinterpret_cast<LoopObject*>(Py_NewRef(loop)), factor};
  }
  if (shape == nullptr) return 0;
  int rank = 0, sizes = 0;
  if (!read_sizes(steps, made->steps, rank) || !read_sizes(shape, made->shape, sizes)) return -1;
  if (sizes != rank) return PyErr_SetString(PyExc_ValueError, "steps do not fit shape."), -1;
  made->rank = rank;
  return 0;
}

void deallocate_expression(PyObject* self) {
  ExpressionObject* made = as_expression(self);
  for (int i = 0; i < made->terms; ++i) Py_DECREF(made->term[i].loop);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* steps_of(PyObject* self, void*) {
  return tuple_of(as_expression(self)->steps, as_expression(self)->rank);
}

PyObject* shape_of(PyObject* self, void*) {
  return tuple_of(as_expression(self)->shape, as_expression(self)->rank);
}

PyObject* terms_of(PyObject* self, void*) {
  PyObject* terms = PyDict_New();
  const ExpressionObject* expression = as_expression(self);
  for (int i = 0; terms != nullptr && i < expression->terms; ++i) {
    PyObject* coefficient = PyLong_FromLongLong(expression->term[i].coefficient);
    PyDict_SetItem(terms, &expression->term[i].loop->ob_base, coefficient);
    Py_XDECREF(coefficient);
  }
  return terms;
}

PyObject* expression_bounds(PyObject* self, PyObject*) {
  int64_t low = 0, high = 0;
  bounds_of(as_expression(self), low, high);
  return Py_BuildValue("LL", static_cast<long long>(low), static_cast<long long>(high));
}

PyMemberDef members[] = {{"constant", T_LONGLONG, offsetof(ExpressionObject, constant), READONLY,
                          "The value where all variables are 0."},
                         {}};
PyGetSetDef properties[] = {
    {"terms", terms_of, nullptr, "dict: loop -> coefficient.", nullptr},
    {"steps", steps_of, nullptr, "Coefficient per dimension.", nullptr},
    {"shape", shape_of, nullptr, "Sizes of the dimensions.", nullptr},
    {"affine", affine_of, nullptr, "What the builder takes for it.", nullptr},
    {}};
PyMethodDef methods[] = {
    {"bounds", expression_bounds, METH_NOARGS, "The smallest and the largest value."}, {}};

PyType_Slot slots[] = {{Py_tp_init, pointer(initialise)},
                       {Py_tp_new, pointer(PyType_GenericNew)},
                       {Py_tp_dealloc, pointer(deallocate_expression)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {Py_tp_methods, methods},
                       {Py_tp_richcompare, pointer(compare)},
                       {Py_nb_add, pointer(sum_of)},
                       {Py_nb_subtract, pointer(difference_of)},
                       {Py_nb_multiply, pointer(product_of)},
                       {Py_nb_negative, pointer(negative_of)},
                       {Py_nb_floor_divide, pointer(quotient_of)},
                       {Py_nb_remainder, pointer(remainder_of)},
                       {Py_nb_divmod, pointer(divmod_of)},
                       {0, nullptr}};

}  // namespace

PyType_Spec expression_spec = {"neuron_sim._core.IndexExpression", sizeof(ExpressionObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace neuron_sim::tracing
