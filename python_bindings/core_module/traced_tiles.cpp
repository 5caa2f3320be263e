// The tiles of results that are not assigned to tiles of the kernel.

#include <nanobind/nanobind.h>

#include <unordered_map>

#include "device/base/errors.h"
#include "device/program/builder.h"
#include "python_bindings/core_module/build_kernel.h"
#include "python_bindings/core_module/traced_objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The device's dtype of a DType, whose objects live as long as the process.
Dtype device_dtype(PyObject* dtype) {
  static auto* known = new std::unordered_map<PyObject*, Dtype>();
  const auto found = known->find(dtype);
  if (found != known->end()) return found->second;
  const Dtype named = dtype_of_name(nb::cast<std::string>(nb::handle(dtype).attr("name")));
  known->emplace(Py_NewRef(dtype), named);
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
    free *= nb::cast<int64_t>(nb::handle(PyTuple_GET_ITEM(shape, i)));
  }
  PyTuple_SET_ITEM(steps.ptr(), 0, PyLong_FromLong(1));
  const auto partitions = nb::cast<int64_t>(nb::handle(PyTuple_GET_ITEM(shape, 0)));
  auto& builder = nb::cast<Builder&>(nb::handle(trace->field[TraceObject::kBuilder]));
  const Dtype dtype = device_dtype(tensor->field[TensorObject::kDtype]);
  return nb::cast(in_psum ? builder.psum(label, {partitions, free}, dtype)
                          : builder.sbuf(label, {partitions, free}, dtype));
}

}  // namespace

bool give_tile(TraceObject* trace, PyObject* result, PyObject* buffer, PyObject* name) {
  TensorObject* tensor = as_tensor(result);
  PyObject* shape = tensor->field[TensorObject::kShape];
  if (trace->widens != 0 || PyTuple_GET_SIZE(shape) < 2) {
    PyObject* done =
        PyObject_CallMethod(&trace->ob_base, "_in_new_tile", "OOO", result, buffer, name);
    Py_XDECREF(done);
    return done != nullptr;
  }
  try {
    nb::object steps;
    const bool in_psum = buffer == connections.psum;
    const nb::object whole =
        new_tile(trace, tensor, in_psum, nb::cast<std::string>(nb::handle(name)), steps);
    auto* storage =
        reinterpret_cast<StorageObject*>(connections.storage->tp_alloc(connections.storage, 0));
    if (storage == nullptr) return false;
    static PyObject* zero = PyLong_FromLong(0);
    static PyObject* memories[] = {PyUnicode_InternFromString("sbuf"),
                                   PyUnicode_InternFromString("psum")};
    PyObject* scopes = trace->field[TraceObject::kOpenScopes];
    PyObject* values[StorageObject::kFields] = {};
    values[StorageObject::kTrace] = &trace->ob_base;
    values[StorageObject::kName] = name;
    values[StorageObject::kBuffer] = buffer;
    values[StorageObject::kMemory] = memories[in_psum ? 1 : 0];
    values[StorageObject::kShape] = shape;
    values[StorageObject::kDtype] = tensor->field[TensorObject::kDtype];
    values[StorageObject::kWhole] = whole.ptr();
    values[StorageObject::kScope] = PyList_GET_ITEM(scopes, PyList_GET_SIZE(scopes) - 1);
    values[StorageObject::kAxis] = zero;
    for (int i = 0; i < StorageObject::kFields; ++i) storage->field[i] = Py_XNewRef(values[i]);
    storage->made_at = trace->uses;
    storage->is_mutable = 1;
    storage->in_psum = in_psum ? 1 : 0;
    set_field(tensor->field[TensorObject::kSteps], steps.ptr());
    if (PyTuple_GET_SIZE(shape) == 2) {
      set_field(tensor->field[TensorObject::kAccess], whole.ptr());
    }
    Py_XDECREF(tensor->field[TensorObject::kStorage]);
    tensor->field[TensorObject::kStorage] = &storage->ob_base;
  } catch (...) {
    raised();
    return false;
  }
  return true;
}

}  // namespace neuron_sim::tracing
