// The tiles of results that are not assigned to tiles of the kernel.

#include <nanobind/nanobind.h>

#include <optional>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/program/build_kernel.h"
#include "python_bindings/core_module/tracing/integers.h"
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

/// The View of a new tile [partitions, product of the free dimensions].
nb::object new_tile(TraceObject* trace, const TensorObject* tensor, bool in_psum,
                    const std::string& label) {
  const Sizes& shape = tensor->shape;
  int64_t free = 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    if (!__builtin_mul_overflow(free, shape[i], &free)) continue;
    fail(text("tile '", label, "': its shape ", nb::repr(tuple_of(shape)).c_str(),
              " is no tile's."));
  }
  Builder& builder = builder_of(trace);
  const nb::handle dtype(tensor->dtype);
  const Dtype stored =
      trace->widens == 0
          ? device_dtype(dtype.ptr())
          : dtype_of_name(nb::cast<std::string>(nb::handle(trace).attr("stored")(dtype)));
  return nb::cast(in_psum ? builder.psum(label, {shape[0], free}, stored)
                          : builder.sbuf(label, {shape[0], free}, stored));
}

/// The shape of a tile whose partitions exist, with at least one free dimension; nothing, without
/// an error, for others. nl.par_dim is an int of another type.
std::optional<Sizes> plain_shape(const TraceObject* trace, PyObject* shape) {
  const Builder* builder = open_builder(trace->builder);
  if (builder == nullptr || PyTuple_CheckExact(shape) == 0 || PyTuple_GET_SIZE(shape) < 2 ||
      PyTuple_GET_SIZE(shape) > static_cast<Py_ssize_t>(kMaximumDimensions)) {
    return {};
  }
  Sizes plain;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    PyObject* size = PyTuple_GET_ITEM(shape, i);
    int overflow = 0;
    if (i == 0 ? PyLong_Check(size) == 0 : PyLong_CheckExact(size) == 0) return {};
    plain.push_back(PyLong_AsLongLongAndOverflow(size, &overflow));
    const int64_t most = i == 0 ? builder->limits().partitions : INT64_MAX;
    if (overflow != 0 || plain[plain.size() - 1] < 1 || plain[plain.size() - 1] > most) return {};
  }
  return plain;
}

/// The scope of a tile that a place in the kernel makes: the open one, or a block of the older
/// language's source.
nb::object scope_at(TraceObject* trace, PyObject* place) {
  PyObject* scopes = trace->open_scopes;
  if (PyList_Check(scopes) == 0 || PyList_GET_SIZE(scopes) == 0) {
    PyErr_SetString(PyExc_RuntimeError, "a kernel makes a tile without an open scope.");
    throw nb::python_error();
  }
  nb::object open = nb::borrow(PyList_GET_ITEM(scopes, PyList_GET_SIZE(scopes) - 1));
  if (trace->is_old == 0 || is_absent(place) || has_open_scope(place)) return open;
  nb::object scope = nb::handle(trace).attr("scope")(nb::handle(place));
  if (scope.is(open)) note_open_scope(place);
  return scope;
}

}  // namespace

void give_tile(TraceObject* trace, PyObject* result, PyObject* buffer, PyObject* name,
               PyObject* place) {
  TensorObject* tensor = as_tensor(result);
  if (shape_of(result).empty()) fail("a tile has at least one dimension.");
  const bool in_psum = buffer == constants.psum;
  const nb::object whole =
      new_tile(trace, tensor, in_psum, nb::cast<std::string>(nb::handle(name)));
  const nb::object scope = scope_at(trace, place);
  nb::object made = nb::steal(classes.storage->tp_alloc(classes.storage, 0));
  must(made.is_valid());
  auto* storage = static_cast<StorageObject*>(made.ptr());
  static PyObject* zero = PyLong_FromLong(0);
  static PyObject* memories[] = {PyUnicode_InternFromString("sbuf"),
                                 PyUnicode_InternFromString("psum")};
  storage->shape = tensor->sizes = tuple_of(shape_of(result));
  storage->dtype = tensor->dtype;
  storage->whole = whole;
  storage->scope = scope;
  set_field(storage->trace, trace);
  set_field(storage->name, name);
  set_field(storage->buffer, buffer);
  set_field(storage->memory, memories[in_psum ? 1 : 0]);
  set_field(storage->axis, zero);
  storage->made_at = trace->uses;
  storage->is_mutable = 1;
  storage->in_psum = in_psum ? 1 : 0;
  if (shape_of(result).size() == 2 && trace->widens == 0) tensor->access = whole;
  tensor->storage = std::move(made);
}

PyObject* trace_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = as_trace(self);
  if (count != 4 || PyUnicode_Check(arguments[3]) == 0) {
    fail("a tile has a shape, a dtype, a buffer and a name.", ErrorKind::kType);
  }
  settle(trace);
  const nb::object frame = trace->is_old == 0 ? nb::object() : kernel_frame();
  nb::object made = new_tensor(nullptr, arguments[1], TensorView::dense(sizes_of(arguments[0]), 0));
  give_tile(trace, made.ptr(), arguments[2], arguments[3],
            frame.is_valid() ? place_of(frame) : nullptr);
  return made.release().ptr();
}

PyObject* plain_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = as_trace(self);
  if (count != 4 || PyUnicode_Check(arguments[3]) == 0) {
    fail("a tile has a shape, a dtype, a buffer and a name.", ErrorKind::kType);
  }
  if (trace->widens != 0 || (arguments[2] != constants.sbuf && arguments[2] != constants.psum)) {
    Py_RETURN_NONE;
  }
  const std::optional<Sizes> shape = plain_shape(trace, arguments[0]);
  const nb::object frame = shape ? kernel_frame() : nb::object();
  if (!frame.is_valid()) Py_RETURN_NONE;
  static PyObject* otherwise = PyUnicode_InternFromString("tensor");
  PyObject* place = place_of(frame);
  const nb::object name = assigned_name(trace, frame, place, *shape);
  PyObject* used = PyUnicode_GetLength(arguments[3]) > 0 ? arguments[3] : name.ptr();
  if (PyUnicode_GetLength(used) == 0) used = otherwise;
  settle(trace);
  note_tile(trace, used);
  if (trace->emitting == 0) go_to(trace, place);
  nb::object made = new_tensor(nullptr, arguments[1], TensorView::dense(*shape, 0));
  give_tile(trace, made.ptr(), arguments[2], used, place);
  return made.release().ptr();
}

}  // namespace neuron_sim::tracing
