#pragma once
// The parts of tensors that a trace made not long ago.

#include <nanobind/nanobind.h>

namespace neuron_sim::tracing {

/// The part of a tensor that an index selects, if the trace made it not long ago.
struct Part {
  PyObject* tensor = nullptr;
  PyObject* index = nullptr;
  PyObject* part = nullptr;    ///< borrowed
  PyObject* places = nullptr;  ///< what the trace remembers, borrowed
  Py_ssize_t first = 0;        ///< of those that it may be at

  /// Looks it up; false when it is not known.
  bool find(PyObject* of, PyObject* by);
  /// Remembers one that was made after find().
  void keep(PyObject* made) const;
};

/// An index that no subscript has: of [(one, other), ...], and something else that selects a part.
/// Null without an error when the pairs are not plain ints in lists or tuples. New reference.
PyObject* index_of_pairs(PyObject* pairs, PyObject* other);

}  // namespace neuron_sim::tracing
