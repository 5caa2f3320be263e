// Results of the older language, which are emitted when they are used.

#include <nanobind/nanobind.h>

#include <string>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// emit(target, *operands[, accumulate=...]) of a function of Python.
void call_emit(const PendingObject* pending, nb::handle target, PyObject* accumulate) {
  const auto operands = nb::borrow<nb::tuple>(pending->operands);
  const nb::handle emit(pending->emit);
  if (accumulate == nullptr) {
    emit(target, *operands);
  } else {
    emit(target, *operands, nb::arg("accumulate") = nb::handle(accumulate));
  }
}

/// Sets the place in the kernel and the name of a result.
void locate(TraceObject* trace, PendingObject* pending, const Sizes& shape) {
  static PyObject* otherwise = PyUnicode_InternFromString("result");
  const nb::object frame = kernel_frame();
  set_field(pending->name, otherwise);
  if (!frame.is_valid()) return;
  PyObject* place = place_of(frame);
  nb::object name = assigned_name(trace, frame, place, shape);
  set_field(pending->place, place);
  if (PyUnicode_GetLength(name.ptr()) > 0) pending->name = std::move(name);
}

}  // namespace

void go_to(TraceObject* trace, PyObject* place) {
  PyObject* line = PyTuple_GET_ITEM(place, 0);
  if (trace->line == line) return;
  set_field(trace->line, line);
  static std::string characters;  // reuses its memory, guarded by the GIL
  Py_ssize_t size = 0;
  const char* first = PyUnicode_AsUTF8AndSize(line, &size);
  must(first != nullptr);
  builder_of(trace).set_source_line(characters.assign(first, static_cast<size_t>(size)));
}

void note_tile(TraceObject* trace, PyObject* name) {
  if (trace->has_tiles != 0) return;
  trace->allocation.attr("allocate_automatically")(nb::handle(name));
  trace->has_tiles = 1;
}

void emit_pending(TraceObject* trace, const PendingObject* pending, PyObject* target,
                  PyObject* accumulate) {
  PyObject* place = pending->place;
  const bool has_place = !is_absent(place);
  if (has_place) go_to(trace, place);
  const char before = trace->emitting;
  if (has_place) trace->emitting = 1;
  PyObject* what = pending->emit;
  try {
    if (Py_TYPE(what) == instruction_type) {
      PyObject* operands = pending->operands;
      emit_instruction(trace, as_instruction(what), target, span_of(operands), accumulate);
    } else {
      call_emit(pending, target, accumulate);
    }
  } catch (...) {
    raised();
    const nb::python_error error;
    trace->emitting = has_place ? 0 : before;
    if (has_place && error.matches(PyExc_Exception)) {
      nb::handle(trace).attr("_point_at")(error.value(), nb::handle(place));
    }
    throw error;
  }
  trace->emitting = has_place ? 0 : before;
}

nb::object take_pending(TraceObject* trace) {
  return std::move(static_cast<nb::object&>(trace->pending));
}

PyObject* deferred(TraceObject* trace, const Result& result) {
  settle(trace);
  const nb::object made = nb::steal(pending_type->tp_alloc(pending_type, 0));
  must(made.is_valid());
  PendingObject* pending = as_pending(made.ptr());
  pending->in_psum = result.in_psum ? 1 : 0;
  pending->accumulates = result.accumulates ? 1 : 0;
  pending->is_explicit = result.is_explicit ? 1 : 0;
  set_field(pending->trace, trace);
  set_field(pending->emit, result.emit);
  pending->operands = packed(result.operands);
  set_field(pending->buffer, result.in_psum ? constants.psum : constants.sbuf);
  locate(trace, pending, result.shape);
  nb::object tensor = new_tensor(nullptr, result.dtype, TensorView::dense(result.shape, 0));
  set_field(as_tensor(tensor.ptr())->pending, made.ptr());
  set_field(pending->tensor, tensor.ptr());
  set_field(trace->pending, made.ptr());
  return tensor.release().ptr();
}

PyObject* trace_result(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"shape",       "dtype",    "memory",   "emit",
                                "accumulates", "explicit", "operands", nullptr};
  PyObject *shape = nullptr, *dtype = nullptr, *memory = nullptr, *emit = nullptr;
  PyObject* operands = nullptr;
  int accumulates = 0, is_explicit = 0;
  must(PyArg_ParseTupleAndKeywords(arguments, keywords, "OOUO|ppO!:result",
                                   const_cast<char**>(names), &shape, &dtype, &memory, &emit,
                                   &accumulates, &is_explicit, &PyTuple_Type, &operands) != 0);
  Result result{.shape = sizes_of(shape), .dtype = dtype, .emit = emit};
  if (operands != nullptr) result.operands = span_of(operands);
  result.in_psum = PyUnicode_CompareWithASCIIString(memory, "psum") == 0;
  result.accumulates = accumulates != 0;
  result.is_explicit = is_explicit != 0;
  return deferred(as_trace(self), result);
}

void settle(TraceObject* trace) {
  if (is_absent(trace->pending)) return;
  const nb::object taken = take_pending(trace);
  const PendingObject* pending = as_pending(taken.ptr());
  const nb::object tensor = pending->tensor;
  PyObject* name = pending->name;
  note_tile(trace, name);
  give_tile(trace, tensor.ptr(), pending->buffer, name, pending->place);
  set_field(as_tensor(tensor.ptr())->pending, nullptr);
  emit_pending(trace, pending, tensor.ptr(), nullptr);
}

void settle_tensor(PyObject* tensor) {
  const auto has_storage = [tensor] { return !is_absent(as_tensor(tensor)->storage); };
  if (has_storage()) return;
  PyObject* pending = as_tensor(tensor)->pending;
  if (!is_absent(pending)) settle(as_trace(as_pending(pending)->trace));
  if (has_storage()) return;
  PyErr_SetString(PyExc_RuntimeError,
                  "this tile has no place on chip: the instruction that makes it was refused.");
  throw nb::python_error();
}

void trace_settle(PyObject* self, PyObject*) { settle(as_trace(self)); }

nb::object trace_builder(TraceObject& trace) {
  builder_of(&trace);
  settle(&trace);
  if (trace.emitting == 0) {
    const nb::object frame = kernel_frame();
    if (frame.is_valid()) go_to(&trace, place_of(frame));
  }
  return trace.builder;
}

nb::object current_builder(PyObject*, PyObject*) {
  TraceObject* trace = running_trace();
  return trace_builder(trace != nullptr ? *trace
                                        : *as_trace(nb::handle(connections.current)().ptr()));
}

}  // namespace neuron_sim::tracing
