#pragma once
// Integers of Python, and tuples of them, as numbers.

#include <nanobind/nanobind.h>

#include <cstdint>

#include "device/tracing/index_expression.h"

namespace neuron_sim::tracing {

/// number_of() a value that is not exactly an int.
bool number_of_other(PyObject* value, int64_t& number);

/// The value of a Python or NumPy integer; false for floats and other non-integers. IndexOverflow
/// above 64 bits. Inline: it runs dozens of times per traced instruction.
inline bool number_of(PyObject* value, int64_t& number) {
  if (PyLong_CheckExact(value) == 0) return number_of_other(value, number);
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) throw IndexOverflow();
  return true;
}
/// An integer; throws the TypeError of others.
inline int64_t integer_of(PyObject* value) {
  int64_t number = 0;
  if (number_of(value, number)) return number;
  nanobind::steal(PyNumber_Index(value));  // sets the error
  throw nanobind::python_error();
}
/// The integers of a tuple or list. Throws python_error, or KernelError for more than
/// kMaximumDimensions.
Sizes sizes_of(PyObject* sequence);
nanobind::object tuple_of(const Sizes& sizes);

}  // namespace neuron_sim::tracing
