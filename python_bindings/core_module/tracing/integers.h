#pragma once
// Integers of Python, and tuples of them, as numbers.

#include <nanobind/nanobind.h>

#include <cstdint>

#include "device/tracing/index_expression.h"

namespace neuron_sim::tracing {

enum class Number { kNone, kFound, kError };

/// OverflowError: an index expression exceeds 64 bits. Returns false.
bool overflows();
/// number_of() a value that is not exactly an int.
Number number_of_other(PyObject* value, int64_t& number);

/// The value of a Python or NumPy integer; kNone for floats and other non-integers, kError
/// with an OverflowError above 64 bits. Inline: it runs dozens of times per traced instruction.
inline Number number_of(PyObject* value, int64_t& number) {
  if (PyLong_CheckExact(value) == 0) return number_of_other(value, number);
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return Number::kFound;
  overflows();
  return Number::kError;
}
/// Reads an integer; false with a TypeError for others.
inline bool read_integer(PyObject* value, int64_t& number) {
  const Number number_kind = number_of(value, number);
  if (number_kind == Number::kNone) nanobind::steal(PyNumber_Index(value));  // sets the error
  return number_kind == Number::kFound;
}
/// The integers of a tuple or list. Throws python_error, or KernelError for more than
/// kMaximumDimensions.
Sizes sizes_of(PyObject* sequence);
/// New reference.
PyObject* tuple_of(const Sizes& sizes);

}  // namespace neuron_sim::tracing
