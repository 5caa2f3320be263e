// The View of a tensor's access pattern, and the tensors themselves.

#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/traced_objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The address that the builder takes for an int or an expression; false for anything else.
bool read_affine(PyObject* value, Affine& affine) {
  Position position;
  if (is_absent(value) || !read_position(value, position)) return false;
  affine = Affine(position.constant);
  for (int i = 0; i < position.terms; ++i) {
    const Term& term = position.term[static_cast<size_t>(i)];
    if (is_absent(term.loop->field[LoopObject::kAffine])) return false;
    affine +=
        nb::cast<Affine>(nb::handle(term.loop->field[LoopObject::kAffine])) * term.coefficient;
  }
  return true;
}

/// The dimensions of a plain pattern of a whole tile or HBM tensor; false for others, of which some
/// have no View at all (negative steps).
bool read_dimensions(const TensorObject* tensor, std::vector<Dimension>& dimensions) {
  using Field = TensorObject;
  PyObject* shape = tensor->field[Field::kShape];
  PyObject* steps = tensor->field[Field::kSteps];
  if (shape == nullptr || steps == nullptr || PyTuple_CheckExact(shape) == 0 ||
      PyTuple_CheckExact(steps) == 0) {
    return false;
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  if (rank < 1 || rank > kMaximumRank || PyTuple_GET_SIZE(steps) != rank) return false;
  dimensions.reserve(static_cast<size_t>(rank));
  for (Py_ssize_t i = 0; i < rank; ++i) {
    const long long size = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    const long long step = PyLong_AsLongLong(PyTuple_GET_ITEM(steps, i));
    if ((size == -1 || step == -1) && PyErr_Occurred() != nullptr) return PyErr_Clear(), false;
    if (step < 0) return false;
    dimensions.push_back({size, step});
  }
  return true;
}

bool is_plain(const TensorObject* tensor) {
  using Field = TensorObject;
  for (const int each : {Field::kChecks, Field::kIndex, Field::kRegister, Field::kDynamic}) {
    if (!is_absent(tensor->field[each])) return false;
  }
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage]);
  PyObject* axis = tensor->field[Field::kAxis];
  if (axis == nullptr) return false;
  const bool starts_with_partitions = PyLong_CheckExact(axis) != 0 && PyLong_AsLong(axis) == 0;
  return (axis == Py_None || starts_with_partitions) &&
         tensor->field[Field::kDtype] == storage->field[StorageObject::kDtype] &&
         !is_absent(storage->field[StorageObject::kWhole]);
}

/// The View of a plain pattern; nullptr without an error for others.
PyObject* plain_access(const TensorObject* tensor) {
  using Field = TensorObject;
  static std::vector<Dimension> dimensions;  // kept: the interpreter's lock protects it
  dimensions.clear();
  Affine start, partition;
  if (!is_plain(tensor) || !read_dimensions(tensor, dimensions) ||
      !read_affine(tensor->field[Field::kStart], start)) {
    return nullptr;
  }
  const bool is_on_chip = tensor->field[Field::kAxis] != Py_None;
  if (is_on_chip && !read_affine(tensor->field[Field::kPartition], partition)) return nullptr;
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage]);
  const auto& whole = nb::cast<const View&>(nb::handle(storage->field[StorageObject::kWhole]));
  return nb::cast(whole.pattern(dimensions, start, partition)).release().ptr();
}

/// In loops it matters who used a tensor last.
bool note_use(StorageObject* storage) {
  auto* trace = reinterpret_cast<TraceObject*>(storage->field[StorageObject::kTrace]);
  const int is_open =
      PySet_Contains(trace->field[TraceObject::kScopes], storage->field[StorageObject::kScope]);
  if (is_open < 0) return false;
  if (is_open == 0) {
    PyObject* done = PyObject_CallMethod(&trace->ob_base, "check_scope", "O", storage);
    if (done == nullptr) return false;
    Py_DECREF(done);
  }
  if (PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0) {
    storage->uses += 1;
    storage->last_use = ++trace->uses;
  }
  return true;
}

}  // namespace

PyObject* access_of(TensorObject* tensor) {
  using Field = TensorObject;
  if (!settle_tensor(&tensor->ob_base)) return nullptr;
  PyObject* view = tensor->field[Field::kAccess];
  if (!is_absent(view)) {
    Py_INCREF(view);
  } else {
    try {
      view = plain_access(tensor);
    } catch (...) {
      return raised();
    }
    // A number beyond 64 bits is an error of the access, with its sentence.
    if (view == nullptr && PyErr_ExceptionMatches(PyExc_OverflowError) != 0) PyErr_Clear();
    if (view == nullptr && PyErr_Occurred() != nullptr) return nullptr;
    if (view == nullptr) view = PyObject_CallMethod(&tensor->ob_base, "_made_access", nullptr);
    if (view == nullptr) return nullptr;
    if (is_absent(tensor->field[Field::kRegister])) set_field(tensor->field[Field::kAccess], view);
  }
  if (note_use(reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage]))) return view;
  Py_DECREF(view);
  return nullptr;
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

}  // namespace neuron_sim::tracing
