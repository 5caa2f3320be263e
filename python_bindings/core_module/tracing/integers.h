#pragma once
// Integers of Python, and tuples of them, as numbers.

#include <nanobind/nanobind.h>

#include <cstdint>

namespace neuron_sim::tracing {

enum class Number { kNone, kFound, kError };

/// The value of a Python or NumPy integer; kNone for floats and other non-integers, kError
/// with an OverflowError above 64 bits.
Number number_of(PyObject* value, int64_t& number);
/// The same; false with a TypeError for non-integers.
bool read_integer(PyObject* value, int64_t& number);
/// The integers of a tuple; false with an error, also for more than kMaximumDimensions.
bool read_sizes(PyObject* tuple, int64_t* sizes, int& count);
/// New reference.
PyObject* tuple_of(const int64_t* numbers, int count);
/// OverflowError: an index expression exceeds 64 bits. Returns false.
bool overflows();

/// The quotient rounded down, as Python's //.
inline int64_t floor_quotient(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

}  // namespace neuron_sim::tracing
