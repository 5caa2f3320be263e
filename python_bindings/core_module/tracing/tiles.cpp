// The tiles of results that are not assigned to tiles of the kernel.

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/program/build_kernel.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The device's dtype of a DType, whose objects live as long as the process.
Dtype device_dtype(PyObject* dtype) {
  struct Known {
    nb::object dtype;
    Dtype named;
  };
  static auto* known = new std::vector<Known>();  // as many as there are dtypes
  for (const Known& each : *known) {
    if (each.dtype.ptr() == dtype) return each.named;
  }
  const Dtype named = dtype_of_name(nb::cast<std::string>(nb::handle(dtype).attr("name")));
  known->push_back({nb::borrow(dtype), named});
  return named;
}

/// The View of a new tile [partitions, product of the free dimensions], and its steps.
nb::object new_tile(TraceObject* trace, const TensorObject* tensor, bool in_psum,
                    const std::string& label, nb::object& steps) {
  PyObject* shape = tensor->field[TensorObject::kShape];
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  int64_t free = 1;
  steps = nb::steal(PyTuple_New(rank));
  for (Py_ssize_t i = rank - 1; i > 0; --i) {
    PyTuple_SET_ITEM(steps.ptr(), i, PyLong_FromLongLong(free));
    int64_t size = 0;
    const bool fits = nb::try_cast(nb::handle(PyTuple_GET_ITEM(shape, i)), size);
    if (!fits || __builtin_mul_overflow(free, size, &free)) {
      fail(text("tile '", label, "': its shape ", nb::repr(shape).c_str(), " is no tile's."));
    }
  }
  PyTuple_SET_ITEM(steps.ptr(), 0, PyLong_FromLong(1));
  const auto partitions = nb::cast<int64_t>(nb::handle(PyTuple_GET_ITEM(shape, 0)));
  auto& builder = nb::cast<Builder&>(nb::handle(trace->field[TraceObject::kBuilder]));
  const Dtype dtype = device_dtype(tensor->field[TensorObject::kDtype]);
  return nb::cast(in_psum ? builder.psum(label, {partitions, free}, dtype)
                          : builder.sbuf(label, {partitions, free}, dtype));
}

/// The shape of a tile as plain ints: partitions that exist, at least one free dimension.
/// nullptr without an error for others. nl.par_dim is an int of another type. New reference.
PyObject* plain_shape(const TraceObject* trace, PyObject* shape) {
  const Builder* builder = nullptr;
  if (!nb::try_cast(nb::handle(trace->field[TraceObject::kBuilder]), builder) ||
      PyTuple_CheckExact(shape) == 0 || PyTuple_GET_SIZE(shape) < 2) {
    return nullptr;
  }
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  for (Py_ssize_t i = 0; i < rank; ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);
    int overflow = 0;
    if (i == 0 ? PyLong_Check(size) == 0 : PyLong_CheckExact(size) == 0) return nullptr;
    const long long number = PyLong_AsLongLongAndOverflow(size, &overflow);
    if (overflow != 0 || number < 1 || (i == 0 && number > builder->limits().partitions)) {
      return nullptr;
    }
  }
  if (PyLong_CheckExact(PyTuple_GET_ITEM(shape, 0)) != 0) return Py_NewRef(shape);
  PyObject* plain = PyTuple_New(rank);
  for (Py_ssize_t i = 0; plain != nullptr && i < rank; ++i) {
    PyTuple_SET_ITEM(plain, i, PyLong_FromLongLong(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i))));
  }
  return plain;
}

/// The scope of a tile that a place in the kernel makes: the open one, or a block of the older
/// language's source. New reference; nullptr with an error.
PyObject* scope_at(TraceObject* trace, PyObject* place) {
  PyObject* scopes = trace->field[TraceObject::kOpenScopes];
  if (PyList_Check(scopes) == 0 || PyList_GET_SIZE(scopes) == 0) {
    PyErr_SetString(PyExc_RuntimeError, "a kernel makes a tile without an open scope.");
    return nullptr;
  }
  PyObject* open = PyList_GET_ITEM(scopes, PyList_GET_SIZE(scopes) - 1);
  if (trace->is_old == 0 || is_absent(place) || has_open_scope(place)) return Py_NewRef(open);
  PyObject* scope = call_method(&trace->ob_base, "scope", place);
  if (scope != nullptr && scope == open) note_open_scope(place);
  return scope;
}

}  // namespace

bool give_tile(TraceObject* trace, PyObject* result, PyObject* buffer, PyObject* name,
               PyObject* place) {
  TensorObject* tensor = as_tensor(result);
  PyObject* shape = tensor->field[TensorObject::kShape];
  if (trace->widens != 0 || PyTuple_GET_SIZE(shape) < 2) {
    const auto done =
        nb::steal(PyObject_CallMethod(&trace->ob_base, "_in_new_tile", "OOOO", result, buffer, name,
                                      is_absent(place) ? Py_None : place));
    return done.is_valid();
  }
  try {
    nb::object steps;
    const bool in_psum = buffer == constants.psum;
    const nb::object whole =
        new_tile(trace, tensor, in_psum, nb::cast<std::string>(nb::handle(name)), steps);
    const nb::object scope = nb::steal(scope_at(trace, place));
    if (!scope.is_valid()) return false;
    nb::object made = nb::steal(classes.storage->tp_alloc(classes.storage, 0));
    if (!made.is_valid()) return false;
    auto* storage = reinterpret_cast<StorageObject*>(made.ptr());
    static PyObject* zero = PyLong_FromLong(0);
    static PyObject* memories[] = {PyUnicode_InternFromString("sbuf"),
                                   PyUnicode_InternFromString("psum")};
    PyObject* values[StorageObject::kFields] = {};
    values[StorageObject::kTrace] = &trace->ob_base;
    values[StorageObject::kName] = name;
    values[StorageObject::kBuffer] = buffer;
    values[StorageObject::kMemory] = memories[in_psum ? 1 : 0];
    values[StorageObject::kShape] = shape;
    values[StorageObject::kDtype] = tensor->field[TensorObject::kDtype];
    values[StorageObject::kWhole] = whole.ptr();
    values[StorageObject::kScope] = scope.ptr();
    values[StorageObject::kAxis] = zero;
    for (int i = 0; i < StorageObject::kFields; ++i) set_field(storage->field[i], values[i]);
    storage->made_at = trace->uses;
    storage->is_mutable = 1;
    storage->in_psum = in_psum ? 1 : 0;
    set_field(tensor->field[TensorObject::kSteps], steps.ptr());
    if (PyTuple_GET_SIZE(shape) == 2) {
      set_field(tensor->field[TensorObject::kAccess], whole.ptr());
    }
    tensor->field[TensorObject::kStorage] = std::move(made);
  } catch (...) {
    raised();
    return false;
  }
  return true;
}

PyObject* plain_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = as_trace(self);
  nb::object shape;
  if (count == 4 && PyUnicode_Check(arguments[3]) == 0) {
    return wrong_type("name", "a str", arguments[3]);
  }
  if (count == 4 && trace->widens == 0 &&
      (arguments[2] == constants.sbuf || arguments[2] == constants.psum)) {
    shape = nb::steal(plain_shape(trace, arguments[0]));
  }
  const nb::object frame = shape.is_valid() ? kernel_frame() : nb::object();
  if (!frame.is_valid()) {
    if (PyErr_Occurred() != nullptr) return nullptr;
    Py_RETURN_NONE;
  }
  static PyObject* zero = PyLong_FromLong(0);
  static PyObject* otherwise = PyUnicode_InternFromString("tensor");
  PyObject* place = place_of(frame);
  if (place == nullptr) return nullptr;
  const nb::object name = nb::steal(assigned_name(trace, frame, place, shape.ptr()));
  if (!name.is_valid()) return nullptr;
  PyObject* used = PyUnicode_GetLength(arguments[3]) > 0 ? arguments[3] : name.ptr();
  if (PyUnicode_GetLength(used) == 0) used = otherwise;
  if (!settle(trace) || !note_tile(trace, used)) return nullptr;
  if (trace->emitting == 0 && !go_to(trace, place)) return nullptr;
  TensorObject* tensor = new_tensor(nullptr, shape.ptr(), arguments[1], Py_None, zero, zero, zero);
  if (tensor == nullptr) return nullptr;
  nb::object made = nb::steal(&tensor->ob_base);
  const bool good = give_tile(trace, made.ptr(), arguments[2], used, place);
  return good ? made.release().ptr() : nullptr;
}

}  // namespace neuron_sim::tracing
