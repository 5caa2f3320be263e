#pragma once
// The parts of tensors that a trace made not long ago.

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

/// The part of a tensor that an index selects, if the trace made it not long ago. What selects it
/// is a key of numbers: append() is false for what may mean something else another time.
class Part {
 public:
  explicit Part(PyObject* of) : tensor_(of) { key_.append_address(of); }

  /// Appends a number, None, `...`, a slice, an index expression, nl.ds or a tuple of them.
  bool append(PyObject* item);
  /// Appends [(one, other), ...] of plain ints, which is no subscript.
  bool append_pairs(PyObject* pairs);
  /// Looks it up; null when it is not known. Borrowed.
  PyObject* find();
  /// Remembers one that was made after find(), and with it the loops of its index.
  void keep(PyObject* made, PyObject* index) const;

 private:
  PyObject* tensor_;
  TraceObject* trace_ = nullptr;
  PartKey key_;
};

}  // namespace neuron_sim::tracing
