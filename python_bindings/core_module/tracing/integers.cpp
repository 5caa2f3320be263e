#include "python_bindings/core_module/tracing/integers.h"

#include "python_bindings/core_module/tracing/structures.h"

namespace neuron_sim::tracing {

bool overflows() {
  PyErr_SetString(PyExc_OverflowError, "an index expression is beyond 64 bits.");
  return false;
}

Number number_of_other(PyObject* value, int64_t& number) {
  if (PyFloat_Check(value) != 0 || PyIndex_Check(value) == 0) return Number::kNone;
  PyObject* index = PyNumber_Index(value);
  if (index == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return Number::kError;
    PyErr_Clear();
    return Number::kNone;
  }
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(index, &overflow);  // of a subclass of int, too
  Py_DECREF(index);
  return overflow == 0 || overflows() ? Number::kFound : Number::kError;
}

bool read_sizes(PyObject* tuple, int64_t* sizes, int& count) {
  if (tuple == nullptr || PyTuple_Check(tuple) == 0) {
    PyErr_SetString(PyExc_TypeError, "the sizes and steps of a tensor are tuples.");
    return false;
  }
  count = static_cast<int>(PyTuple_GET_SIZE(tuple));
  if (count > kMaximumDimensions) {
    PyErr_Format(PyExc_ValueError, "a tensor has %d dimensions, more than %d.", count,
                 kMaximumDimensions);
    return false;
  }
  for (int i = 0; i < count; ++i) {
    if (!read_integer(PyTuple_GET_ITEM(tuple, i), sizes[i])) return false;
  }
  return true;
}

PyObject* tuple_of(const int64_t* numbers, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != nullptr && i < count; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(numbers[i]));
  }
  return tuple;
}

}  // namespace neuron_sim::tracing
