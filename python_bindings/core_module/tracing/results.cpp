// Results of the older language, which are emitted when they are used.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/hash.h"
#include "python_bindings/core_module/tracing/integers.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// emit(target, *operands[, accumulate=...]) of a function of Python.
void call_emit(const PendingObject* pending, nb::handle target, PyObject* accumulate) {
  const auto operands = nb::borrow<nb::tuple>(pending->field[PendingObject::kOperands]);
  const nb::handle emit(pending->field[PendingObject::kEmit]);
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
  set_field(pending->field[PendingObject::kName], otherwise);
  if (!frame.is_valid()) return;
  PyObject* place = place_of(frame);
  nb::object name = assigned_name(trace, frame, place, shape);
  set_field(pending->field[PendingObject::kPlace], place);
  if (PyUnicode_GetLength(name.ptr()) > 0) pending->field[PendingObject::kName] = std::move(name);
}

/// The characters of a str, kept for a few of them with a reference.
const std::string& characters_of(PyObject* line) {
  struct Known {
    nb::object line;
    std::string characters;
  };
  static auto& known = *new std::array<Known, 1024>();
  Known& place = known[index_of(reinterpret_cast<uintptr_t>(line), known.size())];
  if (place.line.ptr() != line) {
    place.characters = nb::cast<std::string>(nb::handle(line));
    place.line = nb::borrow(line);
  }
  return place.characters;
}

}  // namespace

void go_to(TraceObject* trace, PyObject* place) {
  PyObject* line = PyTuple_GET_ITEM(place, 0);
  if (trace->field[TraceObject::kLine] == line) return;
  set_field(trace->field[TraceObject::kLine], line);
  builder_of(trace).set_source_line(characters_of(line));
}

void note_tile(TraceObject* trace, PyObject* name) {
  if (trace->has_tiles != 0) return;
  nb::handle(trace->field[TraceObject::kAllocation])
      .attr("allocate_automatically")(nb::handle(name));
  trace->has_tiles = 1;
}

void emit_pending(TraceObject* trace, const PendingObject* pending, PyObject* target,
                  PyObject* accumulate) {
  PyObject* place = pending->field[PendingObject::kPlace];
  const bool has_place = !is_absent(place);
  if (has_place) go_to(trace, place);
  const char before = trace->emitting;
  if (has_place) trace->emitting = 1;
  PyObject* what = pending->field[PendingObject::kEmit];
  try {
    if (Py_TYPE(what) == instruction_type) {
      PyObject* operands = pending->field[PendingObject::kOperands];
      emit_instruction(trace, as_instruction(what), target, span_of(operands), accumulate);
    } else {
      call_emit(pending, target, accumulate);
    }
  } catch (...) {
    raised();
    const nb::python_error error;
    trace->emitting = has_place ? 0 : before;
    if (has_place && error.matches(PyExc_Exception)) {
      nb::handle(&trace->ob_base).attr("_point_at")(error.value(), nb::handle(place));
    }
    throw error;
  }
  trace->emitting = has_place ? 0 : before;
}

nb::object take_pending(TraceObject* trace) {
  return std::move(static_cast<nb::object&>(trace->field[TraceObject::kPending]));
}

PyObject* deferred(TraceObject* trace, const Result& result) {
  settle(trace);
  const nb::object made = nb::steal(pending_type->tp_alloc(pending_type, 0));
  must(made.is_valid());
  PendingObject* pending = as_pending(made.ptr());
  pending->in_psum = result.in_psum ? 1 : 0;
  pending->accumulates = result.accumulates ? 1 : 0;
  pending->is_explicit = result.is_explicit ? 1 : 0;
  set_field(pending->field[PendingObject::kTrace], &trace->ob_base);
  set_field(pending->field[PendingObject::kEmit], result.emit);
  pending->field[PendingObject::kOperands] = packed(result.operands);
  set_field(pending->field[PendingObject::kBuffer],
            result.in_psum ? constants.psum : constants.sbuf);
  locate(trace, pending, result.shape);
  nb::object tensor = new_tensor(nullptr, result.dtype, TensorView::dense(result.shape, 0));
  set_field(as_tensor(tensor.ptr())->field[TensorObject::kPending], made.ptr());
  set_field(pending->field[PendingObject::kTensor], tensor.ptr());
  set_field(trace->field[TraceObject::kPending], made.ptr());
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
  if (is_absent(trace->field[TraceObject::kPending])) return;
  const nb::object taken = take_pending(trace);
  const PendingObject* pending = as_pending(taken.ptr());
  const nb::object tensor = pending->field[PendingObject::kTensor];
  PyObject* name = pending->field[PendingObject::kName];
  note_tile(trace, name);
  give_tile(trace, tensor.ptr(), pending->field[PendingObject::kBuffer], name,
            pending->field[PendingObject::kPlace]);
  set_field(as_tensor(tensor.ptr())->field[TensorObject::kPending], nullptr);
  emit_pending(trace, pending, tensor.ptr(), nullptr);
}

void settle_tensor(PyObject* tensor) {
  const auto has_storage = [tensor] {
    return !is_absent(as_tensor(tensor)->field[TensorObject::kStorage]);
  };
  if (has_storage()) return;
  PyObject* pending = as_tensor(tensor)->field[TensorObject::kPending];
  if (!is_absent(pending)) settle(as_trace(as_pending(pending)->field[PendingObject::kTrace]));
  if (has_storage()) return;
  PyErr_SetString(PyExc_RuntimeError,
                  "this tile has no place on chip: the instruction that makes it was refused.");
  throw nb::python_error();
}

PyObject* trace_settle(PyObject* self, PyObject*) {
  settle(as_trace(self));
  Py_RETURN_NONE;
}

PyObject* trace_builder(PyObject* self, void*) {
  TraceObject* trace = as_trace(self);
  builder_of(trace);
  settle(trace);
  if (trace->emitting == 0) {
    const nb::object frame = kernel_frame();
    if (frame.is_valid()) go_to(trace, place_of(frame));
  }
  return Py_NewRef(trace->field[TraceObject::kBuilder]);
}

PyObject* current_builder(PyObject*, PyObject*) {
  if (TraceObject* trace = running_trace()) return trace_builder(&trace->ob_base, nullptr);
  return trace_builder(nb::handle(connections.current)().ptr(), nullptr);
}

}  // namespace neuron_sim::tracing
