// The patterns of Tensor.ap: [[step, size], ...] on the storage or the view, in row-major order.

#include <nanobind/nanobind.h>

#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The dimensions of [[step, size], ...]; false with an error.
bool read_pairs(PyObject* pairs, Pattern& pattern) {
  nb::object sequence = nb::steal(PySequence_Fast(pairs, "a pattern is [[step, size], ...]."));
  if (!sequence.is_valid()) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.ptr()); ++i) {
    nb::object pair = nb::steal(PySequence_Fast(PySequence_Fast_GET_ITEM(sequence.ptr(), i),
                                                "a pattern is [[step, size], ...]."));
    int64_t step = 0, size = 0;
    if (!pair.is_valid()) return false;
    if (PySequence_Fast_GET_SIZE(pair.ptr()) != 2) {
      PyErr_SetString(PyExc_ValueError, "an entry of a pattern is [step, size].");
      return false;
    }
    if (!read_integer(PySequence_Fast_GET_ITEM(pair.ptr(), 0), step) ||
        !read_integer(PySequence_Fast_GET_ITEM(pair.ptr(), 1), size) ||
        !pattern.append(size, step)) {
      return false;
    }
  }
  if (pattern.rank > 0) return true;
  PyErr_SetString(PyExc_IndexError, "a pattern has at least one entry, [step, size].");
  return false;
}

/// Splits an offset into partitions and elements of a partition; false with an error.
bool split(PyObject* offset, int64_t row, Pattern& pattern) {
  int64_t number = 0;
  if (!is_expression(offset)) {
    if (!read_integer(offset, number)) return false;
    pattern.partition.constant = floor_quotient(number, row);
    pattern.start.constant = number - pattern.partition.constant * row;
    return true;
  }
  PyObject *partition = nullptr, *start = nullptr;
  const bool good = divide(offset, row, partition, start) &&
                    read_position(partition, pattern.partition) &&
                    read_position(start, pattern.start);
  Py_XDECREF(partition);
  Py_XDECREF(start);
  return good;
}

/// Elements of a partition of the storage in the dtype of the tensor; false with an error.
bool read_row(const TensorObject* tensor, int64_t& row) {
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[TensorObject::kStorage]);
  PyObject* old = storage->field[StorageObject::kDtype];
  PyObject* dtype = tensor->field[TensorObject::kDtype];
  try {
    row =
        nb::cast<const View&>(nb::handle(storage->field[StorageObject::kWhole])).storage_elements();
    if (dtype == old) return true;
    row = row * nb::cast<int64_t>(nb::handle(old).attr("itemsize")) /
          nb::cast<int64_t>(nb::handle(dtype).attr("itemsize"));
    return true;
  } catch (...) {
    return raised() != nullptr;
  }
}

/// Whether the elements that a view has of a partition follow each other in row-major order, and
/// how many they are.
bool is_dense(const Pattern& view, int64_t& row) {
  row = 1;
  for (int i = view.rank - 1; i > 0; --i) {
    if (view.shape[i] != 1 && view.steps[i] != row) return false;
    row *= view.shape[i];
  }
  return view.axis == 0;
}

/// Places a pattern by its offset, in the storage with `row` elements of a partition or, when its
/// first step is the elements that the view itself has of one, in the view. False with an error.
bool place(PyObject* self, PyObject* offset, int64_t row, Pattern& pattern) {
  if (pattern.steps[0] == row || pattern.shape[0] == 1) return split(offset, row, pattern);
  Pattern view;
  int64_t own = 0;
  if (!read_pattern(as_tensor(self), view)) return false;
  if (!is_dense(view, own) || pattern.steps[0] != own) {
    refuse("partition_step", self, pattern.steps[0], row);
    return false;
  }
  return split(offset, own, pattern) && add_scaled(pattern.partition, view.partition, 1) &&
         add_scaled(pattern.start, view.start, 1);
}

}  // namespace

PyObject* row_of(PyObject* self, void*) {
  int64_t row = 0;
  const bool good = settle_tensor(self) && read_row(as_tensor(self), row);
  return good ? PyLong_FromLongLong(row) : nullptr;
}

PyObject* pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  Pattern pattern;
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "pattern() takes dimensions and an offset.");
    return nullptr;
  }
  if (!settle_tensor(self) || !read_pairs(arguments[0], pattern)) return nullptr;
  if (as_tensor(self)->field[TensorObject::kAxis] == Py_None) {
    return read_position(arguments[1], pattern.start) ? derived(self, pattern) : nullptr;
  }
  if (!is_tensor(self)) return derived(self, pattern);  // which is refused: its tiles lie apart
  int64_t row = 0;
  if (!read_row(as_tensor(self), row)) return nullptr;
  if (!place(self, arguments[1], row, pattern)) return nullptr;
  pattern.axis = 0;
  pattern.steps[0] = 1;
  if (pattern.rank == 1 && !pattern.append(1, 1)) return nullptr;
  return derived(self, pattern);
}

PyObject* shared_pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (!settle_tensor(self)) return nullptr;
  const bool is_shared = count == 2 && is_tensor(self);
  PyObject* index = is_shared ? index_of_pairs(arguments[0], arguments[1]) : nullptr;
  if (index == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  if (index == nullptr) return pattern_of(self, arguments, count);
  Part known;
  PyObject* part =
      known.find(self, index) ? Py_NewRef(known.part) : pattern_of(self, arguments, count);
  if (known.part == nullptr && part != nullptr) known.keep(part);
  Py_DECREF(index);
  return part;
}

}  // namespace neuron_sim::tracing
