// What masks leave of tiles: the common boxes, and the parts of tensors in them. The others are in
// neuron_sim.nki.tracing, mask.py and indexing.py.

#include <algorithm>

#include "python_bindings/core_module/tracing/traced_objects.h"

namespace neuron_sim::tracing {
namespace {

struct Box {
  int rank = 0;
  int64_t first[kMaximumDimensions];
  int64_t last[kMaximumDimensions];
};

bool read_shape(PyObject* shape, Box& box) {
  if (PyTuple_CheckExact(shape) == 0 || PyTuple_GET_SIZE(shape) > kMaximumDimensions) return false;
  box.rank = static_cast<int>(PyTuple_GET_SIZE(shape));
  for (int i = 0; i < box.rank; ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);
    if (PyLong_CheckExact(size) == 0) return false;
    int overflow = 0;
    box.first[i] = 0;
    box.last[i] = PyLong_AsLongLongAndOverflow(size, &overflow);
    if (overflow != 0) return false;
  }
  return true;
}

enum class Cut { kNothing, kPart, kAll, kOther };

/// condition >= 0 limits one dimension of the box; kOther when it depends on a loop, couples
/// dimensions or does not fit the tile.
Cut restrict(const ExpressionObject* condition, const int64_t* sizes, Box& box) {
  int64_t low = 0, high = 0;
  bounds_of(condition, low, high);
  if (low >= 0) return Cut::kNothing;
  if (high < 0) return Cut::kAll;
  if (condition->terms > 0 || condition->rank > box.rank) return Cut::kOther;
  int along = -1;
  const int missing = box.rank - condition->rank;
  for (int j = 0; j < condition->rank; ++j) {
    if (condition->steps[j] == 0) continue;
    if (along >= 0 || condition->shape[j] == 1 || condition->shape[j] != sizes[missing + j]) {
      return Cut::kOther;
    }
    along = j;
  }
  if (along < 0) return Cut::kOther;
  const int64_t step = condition->steps[along];
  const int64_t constant = condition->constant;
  const auto floor = [](int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  if (step > 0) {
    box.first[missing + along] = std::max(box.first[missing + along], -floor(constant, step));
  } else {
    box.last[missing + along] = std::min(box.last[missing + along], floor(constant, -step) + 1);
  }
  return Cut::kPart;
}

PyObject* box_object(const Box& box) {
  PyObject* ranges = PyTuple_New(box.rank);
  for (int i = 0; ranges != nullptr && i < box.rank; ++i) {
    PyTuple_SET_ITEM(ranges, i,
                     Py_BuildValue("(LL)", static_cast<long long>(box.first[i]),
                                   static_cast<long long>(box.last[i] - box.first[i])));
  }
  return ranges;
}

/// Whether the bounds of an index hold in the box.
bool still_within(PyObject* check, const Box& old, const Box& box) {
  long long d = 0, size = 0;
  PyObject *base = nullptr, *steps = nullptr;
  Position start;
  if (PyArg_ParseTuple(check, "LOO!L", &d, &base, &PyDict_Type, &steps, &size) == 0 ||
      !read_position(base, start)) {
    return false;
  }
  int64_t low = 0, high = 0;
  bounds_of(start, low, high);
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(steps, &at, &key, &value) != 0;) {
    const long j = PyLong_AsLong(key);
    const long long step = PyLong_AsLongLong(value);
    if (j < 0 || j >= box.rank || PyErr_Occurred() != nullptr) return false;
    const int64_t moved = old.last[j] == 1 ? 0 : step * box.first[j];
    const int64_t extent = step * (box.last[j] - 1);
    low += moved + std::min<int64_t>(extent, 0);
    high += moved + std::max<int64_t>(extent, 0);
  }
  return low >= 0 && high < size;
}

/// Whether the box has what the checks of the indices ask for.
bool hold(PyObject* checks, const Box& old, const Box& box) {
  if (is_absent(checks)) return true;
  if (PyTuple_CheckExact(checks) == 0) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); ++i) {
    if (!still_within(PyTuple_GET_ITEM(checks, i), old, box)) return false;
  }
  return true;
}

/// The box (start, size) per dimension of a tensor: in `box`, first and size (as `last`).
bool read_ranges(PyObject* ranges, const Box& old, Box& box) {
  box = old;
  for (int d = 0; d < old.rank; ++d) box.first[d] = 0;
  for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(ranges) && d < old.rank; ++d) {
    long long first = 0, size = 0;
    if (PyArg_ParseTuple(PyTuple_GET_ITEM(ranges, d), "LL", &first, &size) == 0) return false;
    if (old.last[d] == 1) continue;  // a broadcast one, which stays
    box.first[d] = first;
    box.last[d] = size;
  }
  return true;
}

PyObject* narrowed(const TensorObject* tensor, const Box& box, const Position& partition,
                   const Position& start) {
  using Field = TensorObject;
  PyObject* shape = PyTuple_New(box.rank);
  for (int i = 0; shape != nullptr && i < box.rank; ++i) {
    PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(box.last[i]));
  }
  PyObject* fields[] = {shape, position_object(partition), position_object(start)};
  TensorObject* made = nullptr;
  if (PyErr_Occurred() == nullptr) {
    made =
        new_tensor(tensor->field[Field::kStorage], fields[0], tensor->field[Field::kDtype],
                   tensor->field[Field::kSteps], tensor->field[Field::kAxis], fields[1], fields[2]);
  }
  for (PyObject* each : fields) Py_XDECREF(each);
  return made == nullptr ? nullptr : &made->ob_base;
}

}  // namespace

PyObject* plain_boxes(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  Box box;
  if (count != 2 || Py_TYPE(arguments[0]) != connections.mask || !read_shape(arguments[1], box)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  PyObject* conditions =
      reinterpret_cast<MaskObject*>(arguments[0])->field[MaskObject::kConditions];
  if (conditions == nullptr || PyTuple_CheckExact(conditions) == 0) Py_RETURN_NOTIMPLEMENTED;
  int64_t sizes[kMaximumDimensions];
  std::copy_n(box.last, box.rank, sizes);
  bool is_cut = false, is_empty = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(conditions); ++i) {
    PyObject* condition = PyTuple_GET_ITEM(conditions, i);
    if (!is_expression(condition)) Py_RETURN_NOTIMPLEMENTED;
    const Cut cut = restrict(as_expression(condition), sizes, box);
    if (cut == Cut::kOther) Py_RETURN_NOTIMPLEMENTED;
    is_cut = is_cut || cut == Cut::kPart;
    is_empty = is_empty || cut == Cut::kAll;
  }
  if (!is_cut && !is_empty) Py_RETURN_NONE;
  for (int i = 0; i < box.rank; ++i) is_empty = is_empty || box.first[i] >= box.last[i];
  if (is_empty) return PyList_New(0);
  return Py_BuildValue("[N]", box_object(box));
}

PyObject* plain_narrow(PyObject* self, PyObject* ranges) {
  using Field = TensorObject;
  TensorObject* tensor = as_tensor(self);
  if (!is_tensor(self) || PyTuple_CheckExact(ranges) == 0 || !settle_tensor(self)) {
    return PyErr_Occurred() == nullptr ? call_method(self, "_narrowed", ranges) : nullptr;
  }
  Box old, steps, box;
  Position start, partition;
  bool good = is_absent(tensor->field[Field::kIndex]) &&
              is_absent(tensor->field[Field::kRegister]) &&
              read_shape(tensor->field[Field::kShape], old) &&
              read_shape(tensor->field[Field::kSteps], steps) && old.rank == steps.rank &&
              read_position(tensor->field[Field::kStart], start) &&
              read_position(tensor->field[Field::kPartition], partition) &&
              read_ranges(ranges, old, box) && hold(tensor->field[Field::kChecks], old, box);
  PyObject* axis = tensor->field[Field::kAxis];
  const long partitions = axis == Py_None ? -1 : PyLong_AsLong(axis);
  for (int d = 0; good && d < old.rank; ++d) {
    Position moved;
    moved.constant = box.first[d];
    good = add_scaled(d == partitions ? partition : start, moved, steps.last[d]);
  }
  if (good) return narrowed(tensor, box, partition, start);
  PyErr_Clear();
  return call_method(self, "_narrowed", ranges);
}

}  // namespace neuron_sim::tracing
