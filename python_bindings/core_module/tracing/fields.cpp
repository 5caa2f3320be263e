// The fields of tensors as numbers, and tensors of other patterns on the same storage.

#include <algorithm>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

bool Pattern::append(int64_t size, int64_t step) {
  if (rank == kMaximumDimensions) {
    PyErr_Format(PyExc_ValueError, "a tensor has more than %d dimensions.", kMaximumDimensions);
    return false;
  }
  shape[rank] = size;
  steps[rank++] = step;
  return true;
}

bool Pattern::move(const Pattern& of, int dimension, const Position& by) {
  return add_scaled(dimension == of.axis ? partition : start, by, of.steps[dimension]);
}

bool read_pattern(TensorObject* tensor, Pattern& pattern) {
  using Field = TensorObject;
  int steps = 0;
  int64_t axis = -1;
  PyObject* object = tensor->field[Field::kAxis];
  if (!settle_tensor(&tensor->ob_base) || (!is_absent(object) && !read_integer(object, axis)) ||
      !read_sizes(tensor->field[Field::kShape], pattern.shape, pattern.rank) ||
      !read_sizes(tensor->field[Field::kSteps], pattern.steps, steps) ||
      !read_position(tensor->field[Field::kStart], pattern.start) ||
      !read_position(tensor->field[Field::kPartition], pattern.partition)) {
    return false;
  }
  pattern.axis = static_cast<int>(axis);
  if (steps == pattern.rank) return true;
  PyErr_SetString(PyExc_ValueError, "the steps of a tensor do not fit its shape.");
  return false;
}

TensorObject* new_tensor(PyObject* storage, PyObject* shape, PyObject* dtype, PyObject* steps,
                         PyObject* axis, PyObject* partition, PyObject* start) {
  using Field = TensorObject;
  PyObject* made = connections.tensor->tp_alloc(connections.tensor, 0);
  if (made == nullptr) return nullptr;
  TensorObject* tensor = as_tensor(made);
  tensor->field[Field::kStorage] = Py_XNewRef(storage);
  tensor->field[Field::kShape] = Py_NewRef(shape);
  tensor->field[Field::kDtype] = Py_NewRef(dtype);
  tensor->field[Field::kSteps] = Py_NewRef(steps);
  tensor->field[Field::kAxis] = Py_NewRef(axis);
  tensor->field[Field::kPartition] = Py_NewRef(partition);
  tensor->field[Field::kStart] = Py_NewRef(start);
  return tensor;
}

namespace {

/// fields: shape, steps, axis, partition, start.
PyObject* on_storage_of(PyObject* tensor, PyObject* const* fields) {
  using Field = TensorObject;
  const TensorObject* old = as_tensor(tensor);
  TensorObject* made = new_tensor(old->field[Field::kStorage], fields[0], old->field[Field::kDtype],
                                  fields[1], fields[2], fields[3], fields[4]);
  if (made == nullptr) return nullptr;
  if (!is_absent(old->field[Field::kRegister])) {
    set_field(made->field[Field::kRegister], old->field[Field::kRegister]);
  }
  return &made->ob_base;
}

/// The tensor on the storage of one whose class may override it.
PyObject* on_storage_of_any(PyObject* tensor, PyObject* const* fields) {
  if (is_tensor(tensor)) return on_storage_of(tensor, fields);
  return PyObject_CallMethod(tensor, "same_storage", "OOOOO", fields[0], fields[1], fields[2],
                             fields[3], fields[4]);
}

bool are_fields(Py_ssize_t count) {
  if (count == 5) return true;
  PyErr_SetString(PyExc_TypeError, "a pattern is shape, steps, axis, partition, start.");
  return false;
}

}  // namespace

PyObject* same_storage(PyObject* tensor, const Pattern& pattern, const Pattern* old) {
  using Field = TensorObject;
  PyObject* axis = pattern.axis < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(pattern.axis);
  // The tensor's own tuple where its numbers are the same.
  const auto tuple = [&](int field, int64_t(Pattern::*member)[kMaximumDimensions]) {
    const int64_t* numbers = pattern.*member;
    const bool is_same = old != nullptr && old->rank == pattern.rank &&
                         std::equal(numbers, numbers + pattern.rank, old->*member);
    return is_same ? Py_NewRef(as_tensor(tensor)->field[field]) : tuple_of(numbers, pattern.rank);
  };
  PyObject* fields[] = {tuple(Field::kShape, &Pattern::shape),
                        tuple(Field::kSteps, &Pattern::steps), axis,
                        position_object(pattern.partition), position_object(pattern.start)};
  PyObject* made = PyErr_Occurred() == nullptr ? on_storage_of_any(tensor, fields) : nullptr;
  for (PyObject* each : fields) Py_XDECREF(each);
  return made;
}

PyObject* derived(PyObject* tensor, const Pattern& pattern) {
  return run_checks(tensor) ? same_storage(tensor, pattern) : nullptr;
}

PyObject* tensor_same_storage(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  return are_fields(count) ? on_storage_of(self, fields) : nullptr;
}

PyObject* tensor_derived(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  return are_fields(count) && run_checks(self) ? on_storage_of_any(self, fields) : nullptr;
}

}  // namespace neuron_sim::tracing
