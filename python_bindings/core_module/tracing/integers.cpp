#include "python_bindings/core_module/tracing/integers.h"

#include "device/base/errors.h"

namespace neuron_sim::tracing {

bool overflows() {
  PyErr_SetString(PyExc_OverflowError, "an index expression is beyond 64 bits.");
  return false;
}

Number number_of_other(PyObject* value, int64_t& number) {
  if (PyFloat_Check(value) != 0 || PyIndex_Check(value) == 0) return Number::kNone;
  const nanobind::object index = nanobind::steal(PyNumber_Index(value));
  if (!index.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return Number::kError;
    PyErr_Clear();
    return Number::kNone;
  }
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);  // of a subclass of int, too
  return overflow == 0 || overflows() ? Number::kFound : Number::kError;
}

Sizes sizes_of(PyObject* sequence) {
  const auto items =
      nanobind::steal(PySequence_Fast(sequence, "the sizes and steps of a tensor are tuples."));
  if (!items.is_valid()) throw nanobind::python_error();
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  if (count > static_cast<Py_ssize_t>(kMaximumDimensions)) {
    fail(text("a tensor has ", count, " dimensions, more than ", kMaximumDimensions, "."));
  }
  Sizes sizes;
  for (Py_ssize_t i = 0; i < count; ++i) {
    int64_t size = 0;
    if (!read_integer(PySequence_Fast_GET_ITEM(items.ptr(), i), size))
      throw nanobind::python_error();
    sizes.push_back(size);
  }
  return sizes;
}

PyObject* tuple_of(const Sizes& sizes) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(sizes.size()));
  for (size_t i = 0; tuple != nullptr && i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  }
  return tuple;
}

}  // namespace neuron_sim::tracing
