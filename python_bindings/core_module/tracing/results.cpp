// Results of the older language, which are emitted when they are used.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/integers.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// emit(target, *operands[, accumulate=...]) of a function of Python; false with an error.
bool call_emit(const PendingObject* pending, PyObject* target, PyObject* accumulate) {
  PyObject* operands = pending->field[PendingObject::kOperands];
  PyObject* arguments[kMostOperands + 2] = {target};
  const Py_ssize_t count = PyTuple_GET_SIZE(operands);
  if (count > kMostOperands) return too_many_operands();
  for (Py_ssize_t i = 0; i < count; ++i) arguments[1 + i] = PyTuple_GET_ITEM(operands, i);
  static PyObject* names = Py_BuildValue("(s)", "accumulate");
  arguments[1 + count] = accumulate;
  const nb::object result = nb::steal(PyObject_Vectorcall(pending->field[PendingObject::kEmit],
                                                          arguments, static_cast<size_t>(1 + count),
                                                          accumulate == nullptr ? nullptr : names));
  return result.is_valid();
}

/// Adds the kernel's line to the error that is set, when it is an Exception.
void point_at(TraceObject* trace, PyObject* place) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return;
  Raised raised;
  const auto done =
      nb::steal(PyObject_CallMethod(&trace->ob_base, "_point_at", "OO", raised.error.ptr(), place));
  if (!done.is_valid()) PyErr_Clear();
  raised.restore();
}

/// Sets the place in the kernel and the name of a result; false with an error.
bool locate(TraceObject* trace, PendingObject* pending, const Sizes& shape) {
  static PyObject* otherwise = PyUnicode_InternFromString("result");
  const nb::object frame = kernel_frame();
  set_field(pending->field[PendingObject::kName], otherwise);
  if (!frame.is_valid()) return PyErr_Occurred() == nullptr;
  PyObject* place = place_of(frame);
  if (place == nullptr) return false;
  nb::object name = nb::steal(assigned_name(trace, frame, place, shape));
  if (!name.is_valid()) return false;
  set_field(pending->field[PendingObject::kPlace], place);
  if (PyUnicode_GetLength(name.ptr()) > 0) pending->field[PendingObject::kName] = std::move(name);
  return true;
}

struct ResultArguments {
  PyObject* value[7] = {nullptr, nullptr, nullptr, nullptr, Py_False, Py_False, nullptr};
};

bool read_arguments(PyObject* const* arguments, Py_ssize_t count, PyObject* names,
                    ResultArguments& read) {
  static const char* known[] = {"shape",       "dtype",    "memory",  "emit",
                                "accumulates", "explicit", "operands"};
  if (count > 7) {
    PyErr_SetString(PyExc_TypeError, "result() takes at most 7 arguments.");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) read.value[i] = arguments[i];
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    int at = 0;
    while (at < 7 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), known[at]) != 0) {
      ++at;
    }
    if (at == 7) {
      PyErr_Format(PyExc_TypeError, "result() has no parameter '%U'.", PyTuple_GET_ITEM(names, i));
      return false;
    }
    read.value[at] = arguments[count + i];
  }
  for (int i = 0; i < 4; ++i) {
    if (read.value[i] != nullptr) continue;
    PyErr_Format(PyExc_TypeError, "result() needs '%s'.", known[i]);
    return false;
  }
  if (PyUnicode_Check(read.value[2]) == 0) wrong_type("memory", "a str", read.value[2]);
  return PyErr_Occurred() == nullptr;
}

/// The characters of a str, kept for a few of them with a reference; nullptr with an error.
const std::string* characters_of(PyObject* line) {
  struct Known {
    nb::object line;
    std::string characters;
  };
  static auto* known = new std::array<Known, 64>();
  Known& place = (*known)[(reinterpret_cast<uintptr_t>(line) >> 4) % known->size()];
  if (place.line.ptr() == line) return &place.characters;
  Py_ssize_t size = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(line, &size);
  if (characters == nullptr) return nullptr;
  place.characters.assign(characters, static_cast<size_t>(size));
  place.line = nb::borrow(line);
  return &place.characters;
}

}  // namespace

bool go_to(TraceObject* trace, PyObject* place) {
  if (!has_builder(trace)) return false;
  PyObject* line = PyTuple_GET_ITEM(place, 0);
  if (trace->field[TraceObject::kLine] == line) return true;
  set_field(trace->field[TraceObject::kLine], line);
  const std::string* words = characters_of(line);
  if (words == nullptr) return false;
  PyObject* object = trace->field[TraceObject::kBuilder];
  Builder* builder = nullptr;
  if (!nb::try_cast(nb::handle(object), builder)) return wrong_type("_builder", "open", object);
  builder->set_source_line(*words);
  return true;
}

bool note_tile(TraceObject* trace, PyObject* name) {
  if (trace->has_tiles != 0) return true;
  const nb::object done = nb::steal(
      call_method(trace->field[TraceObject::kAllocation], "allocate_automatically", name));
  trace->has_tiles = done.is_valid() ? 1 : 0;
  return done.is_valid();
}

bool emit_pending(TraceObject* trace, const PendingObject* pending, PyObject* target,
                  PyObject* accumulate) {
  PyObject* place = pending->field[PendingObject::kPlace];
  const bool has_place = !is_absent(place);
  if (has_place && !go_to(trace, place)) return false;
  const char before = trace->emitting;
  if (has_place) trace->emitting = 1;
  PyObject* what = pending->field[PendingObject::kEmit];
  bool good = false;
  if (Py_TYPE(what) == instruction_type) {
    PyObject* operands = pending->field[PendingObject::kOperands];
    good = emit_instruction(trace, reinterpret_cast<InstructionObject*>(what), target,
                            &PyTuple_GET_ITEM(operands, 0), PyTuple_GET_SIZE(operands), accumulate);
  } else {
    good = call_emit(pending, target, accumulate);
  }
  trace->emitting = has_place ? 0 : before;
  if (!good && has_place) point_at(trace, place);
  return good;
}

nb::object take_pending(TraceObject* trace) {
  return std::move(static_cast<nb::object&>(trace->field[TraceObject::kPending]));
}

PyObject* deferred(TraceObject* trace, const Result& result) {
  const nb::object operands = nb::steal(result.operands);
  if (!settle(trace) || !operands.is_valid()) return nullptr;
  const nb::object made = nb::steal(pending_type->tp_alloc(pending_type, 0));
  if (!made.is_valid()) return nullptr;
  PendingObject* pending = as_pending(made.ptr());
  pending->in_psum = result.in_psum ? 1 : 0;
  pending->accumulates = result.accumulates ? 1 : 0;
  pending->is_explicit = result.is_explicit ? 1 : 0;
  set_field(pending->field[PendingObject::kTrace], &trace->ob_base);
  set_field(pending->field[PendingObject::kEmit], result.emit);
  set_field(pending->field[PendingObject::kOperands], operands.ptr());
  set_field(pending->field[PendingObject::kBuffer],
            result.in_psum ? constants.psum : constants.sbuf);
  if (!locate(trace, pending, result.shape)) return nullptr;
  nb::object tensor = new_tensor(nullptr, result.dtype, TensorView::dense(result.shape, 0));
  set_field(as_tensor(tensor.ptr())->field[TensorObject::kPending], made.ptr());
  set_field(pending->field[PendingObject::kTensor], tensor.ptr());
  set_field(trace->field[TraceObject::kPending], made.ptr());
  return tensor.release().ptr();
}

PyObject* trace_result(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* names) {
  ResultArguments read;
  if (!read_arguments(arguments, count, names, read)) return nullptr;
  PyObject* operands = read.value[6] == nullptr ? PyTuple_New(0) : PySequence_Tuple(read.value[6]);
  if (operands == nullptr) return nullptr;
  const bool in_psum = PyUnicode_CompareWithASCIIString(read.value[2], "psum") == 0;
  return deferred(as_trace(self), {.shape = sizes_of(read.value[0]),
                                   .dtype = read.value[1],
                                   .emit = read.value[3],
                                   .operands = operands,
                                   .in_psum = in_psum,
                                   .accumulates = read.value[4] == Py_True,
                                   .is_explicit = read.value[5] == Py_True});
}

bool settle(TraceObject* trace) {
  if (is_absent(trace->field[TraceObject::kPending])) return true;
  const nb::object taken = take_pending(trace);
  const PendingObject* pending = as_pending(taken.ptr());
  const nb::object tensor = pending->field[PendingObject::kTensor];
  PyObject* name = pending->field[PendingObject::kName];
  if (!note_tile(trace, name) ||
      !give_tile(trace, tensor.ptr(), pending->field[PendingObject::kBuffer], name,
                 pending->field[PendingObject::kPlace])) {
    return false;
  }
  set_field(as_tensor(tensor.ptr())->field[TensorObject::kPending], nullptr);
  return emit_pending(trace, pending, tensor.ptr(), nullptr);
}

bool settle_tensor(PyObject* tensor) {
  if (!is_absent(as_tensor(tensor)->field[TensorObject::kStorage])) return true;
  PyObject* pending = as_tensor(tensor)->field[TensorObject::kPending];
  if (!is_absent(pending) && !settle(as_trace(as_pending(pending)->field[PendingObject::kTrace]))) {
    return false;
  }
  if (!is_absent(as_tensor(tensor)->field[TensorObject::kStorage])) return true;
  PyErr_SetString(PyExc_RuntimeError,
                  "this tile has no place on chip: the instruction that makes it was refused.");
  return false;
}

PyObject* trace_settle(PyObject* self, PyObject*) {
  if (!settle(as_trace(self))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* trace_builder(PyObject* self, void*) {
  TraceObject* trace = as_trace(self);
  if (!has_builder(trace) || !settle(trace)) return nullptr;
  if (trace->emitting == 0) {
    const nb::object frame = kernel_frame();
    PyObject* place = frame.is_valid() ? place_of(frame) : nullptr;
    if (place == nullptr ? PyErr_Occurred() != nullptr : !go_to(trace, place)) return nullptr;
  }
  return Py_XNewRef(trace->field[TraceObject::kBuilder].ptr());
}

PyObject* current_builder(PyObject*, PyObject*) {
  if (TraceObject* trace = running_trace()) return trace_builder(&trace->ob_base, nullptr);
  const nb::object trace = nb::steal(PyObject_CallNoArgs(connections.current));
  return trace.is_valid() ? trace_builder(trace.ptr(), nullptr) : nullptr;
}

}  // namespace neuron_sim::tracing
