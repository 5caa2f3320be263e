// Tensor.ap of the common patterns; neuron_sim.nki.tracing.patterns has the others.

#include <nanobind/nanobind.h>

#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/traced_objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

bool read_number(PyObject* object, int64_t& number) {
  if (PyLong_CheckExact(object) == 0) return false;
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

struct Pairs {
  int rank = 0;
  int64_t step[kMaximumDimensions];
  int64_t size[kMaximumDimensions];
};

/// [[step, size], ...]: lists or tuples of ints.
bool read_pairs(PyObject* pattern, Pairs& pairs) {
  if (PyList_CheckExact(pattern) == 0 && PyTuple_CheckExact(pattern) == 0) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(pattern);
  if (count < 1 || count > kMaximumDimensions) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* pair = PySequence_Fast_GET_ITEM(pattern, i);
    if (PyList_CheckExact(pair) == 0 && PyTuple_CheckExact(pair) == 0) return false;
    if (PySequence_Fast_GET_SIZE(pair) != 2 ||
        !read_number(PySequence_Fast_GET_ITEM(pair, 0), pairs.step[i]) ||
        !read_number(PySequence_Fast_GET_ITEM(pair, 1), pairs.size[i])) {
      return false;
    }
  }
  pairs.rank = static_cast<int>(count);
  return true;
}

/// Splits an offset into partitions and elements of a partition; false when a loop variable
/// would have to be split.
bool split(const Position& begin, int64_t row, Position& partition, Position& start) {
  const auto floor = [row](int64_t number) { return number / row - (number % row < 0 ? 1 : 0); };
  for (int i = 0; i < begin.terms; ++i) {
    if (begin.term[static_cast<size_t>(i)].coefficient % row != 0) {
      int64_t low = 0, high = 0;
      bounds_of(begin, low, high);
      if (floor(low) != floor(high)) return false;
      partition.constant = floor(low);
      start = begin;
      start.constant -= partition.constant * row;
      return true;
    }
  }
  partition = begin;
  partition.constant = floor(begin.constant);
  for (int i = 0; i < begin.terms; ++i) partition.term[static_cast<size_t>(i)].coefficient /= row;
  start.constant = begin.constant - partition.constant * row;
  return true;
}

PyObject* tuple_of(const int64_t* numbers, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != nullptr && i < count; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(numbers[i]));
  }
  return tuple;
}

/// Elements of a partition of the storage; 0 when it has no View.
int64_t row_of(const TensorObject* tensor) {
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[TensorObject::kStorage]);
  const View* whole = nullptr;
  const bool is_view = nb::try_cast(nb::handle(storage->field[StorageObject::kWhole]), whole);
  return is_view && whole != nullptr ? whole->storage_elements() : 0;
}

bool is_plain(const TensorObject* tensor) {
  using Field = TensorObject;
  for (const int each : {Field::kChecks, Field::kRegister, Field::kDynamic}) {
    if (!is_absent(tensor->field[each])) return false;
  }
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage]);
  int64_t axis = 0;
  return (tensor->field[Field::kAxis] == Py_None ||
          (read_number(tensor->field[Field::kAxis], axis) && axis == 0)) &&
         tensor->field[Field::kDtype] == storage->field[StorageObject::kDtype] &&
         !is_absent(storage->field[StorageObject::kWhole]);
}

}  // namespace

PyObject* plain_pattern(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  TensorObject* tensor = as_tensor(self);
  Pairs pairs;
  Position begin, partition, start;
  if (count != 2 || !is_tensor(self) || !settle_tensor(self)) {
    if (PyErr_Occurred() != nullptr) return nullptr;
    Py_RETURN_NONE;
  }
  if (!is_plain(tensor) || !read_pairs(arguments[0], pairs) ||
      !read_position(arguments[1], begin)) {
    Py_RETURN_NONE;
  }
  if (tensor->field[TensorObject::kAxis] == Py_None) {
    start = begin;
  } else {
    const int64_t row = row_of(tensor);
    if (row < 1 || (pairs.step[0] != row && pairs.size[0] != 1) ||
        !split(begin, row, partition, start)) {
      Py_RETURN_NONE;
    }
    pairs.step[0] = 1;
    if (pairs.rank == 1) {
      pairs.step[1] = pairs.size[1] = 1;
      pairs.rank = 2;
    }
  }
  PyObject* fields[] = {tuple_of(pairs.size, pairs.rank), tuple_of(pairs.step, pairs.rank),
                        position_object(partition), position_object(start)};
  TensorObject* made = nullptr;
  if (PyErr_Occurred() == nullptr) {
    made = new_tensor(tensor->field[TensorObject::kStorage], fields[0],
                      tensor->field[TensorObject::kDtype], fields[1],
                      tensor->field[TensorObject::kAxis], fields[2], fields[3]);
  }
  for (PyObject* each : fields) Py_XDECREF(each);
  return made == nullptr ? nullptr : &made->ob_base;
}

}  // namespace neuron_sim::tracing
