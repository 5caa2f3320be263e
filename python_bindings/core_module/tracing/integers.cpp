#include "python_bindings/core_module/tracing/integers.h"

#include "device/base/errors.h"

namespace neuron_sim::tracing {

bool number_of_other(PyObject* value, int64_t& number) {
  if (PyFloat_Check(value) != 0 || PyIndex_Check(value) == 0) return false;
  const nanobind::object index = nanobind::steal(PyNumber_Index(value));
  if (!index.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nanobind::python_error();
    PyErr_Clear();
    return false;
  }
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);  // of a subclass of int, too
  if (overflow != 0) throw IndexOverflow();
  return true;
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
    sizes.push_back(integer_of(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  }
  return sizes;
}

nanobind::object tuple_of(const Sizes& sizes) {
  auto tuple = nanobind::steal(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
  if (!tuple.is_valid()) throw nanobind::python_error();
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  }
  return tuple;
}

}  // namespace neuron_sim::tracing
