// Results of the older language, which are emitted when they are used.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <string>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"

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
  PyObject* result =
      PyObject_Vectorcall(pending->field[PendingObject::kEmit], arguments,
                          static_cast<size_t>(1 + count), accumulate == nullptr ? nullptr : names);
  Py_XDECREF(result);
  return result != nullptr;
}

/// Adds the kernel's line to the error that is set, when it is an Exception.
void point_at(PyObject* place) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) return;
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(error, traceback);
  PyObject* done = PyObject_CallFunctionObjArgs(connections.point_at, error, place, nullptr);
  if (done == nullptr) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, error, traceback);
}

/// Sets the place in the kernel and the name of a result; false with an error.
bool locate(TraceObject* trace, PendingObject* pending, PyObject* shape) {
  static PyObject* otherwise = PyUnicode_InternFromString("result");
  PyFrameObject* frame = kernel_frame();
  if (frame == nullptr) {
    pending->field[PendingObject::kName] = Py_NewRef(otherwise);
    return PyErr_Occurred() == nullptr;
  }
  PyObject* place = place_of(frame);
  PyObject* name = place == nullptr ? nullptr : assigned_name(trace, frame, place, shape);
  Py_DECREF(frame);
  if (name == nullptr) return false;
  pending->field[PendingObject::kPlace] = Py_NewRef(place);
  pending->field[PendingObject::kName] =
      Py_NewRef(PyUnicode_GetLength(name) > 0 ? name : otherwise);
  Py_DECREF(name);
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

}  // namespace

namespace {

/// The characters of a str, kept for a few of them with a reference; nullptr with an error.
const std::string* characters_of(PyObject* line) {
  struct Known {
    PyObject* line = nullptr;
    std::string characters;
  };
  static auto* known = new std::array<Known, 64>();
  Known& place = (*known)[(reinterpret_cast<uintptr_t>(line) >> 4) % known->size()];
  if (place.line == line) return &place.characters;
  Py_ssize_t size = 0;
  const char* characters = PyUnicode_AsUTF8AndSize(line, &size);
  if (characters == nullptr) return nullptr;
  place.characters.assign(characters, static_cast<size_t>(size));
  set_field(place.line, line);
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
  PyObject* done =
      call_method(trace->field[TraceObject::kAllocation], "allocate_automatically", name);
  trace->has_tiles = done != nullptr ? 1 : 0;
  Py_XDECREF(done);
  return done != nullptr;
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
  if (!good && has_place) point_at(place);
  return good;
}

PendingObject* take_pending(TraceObject* trace) {
  PyObject* pending = trace->field[TraceObject::kPending];
  trace->field[TraceObject::kPending] = nullptr;
  return as_pending(pending);
}

PyObject* deferred(TraceObject* trace, const Result& result) {
  static PyObject* zero = PyLong_FromLong(0);
  PyObject* shape = settle(trace) ? PySequence_Tuple(result.shape) : nullptr;
  auto* pending = as_pending(pending_type->tp_alloc(pending_type, 0));
  if (pending == nullptr || shape == nullptr || result.operands == nullptr) {
    Py_XDECREF(shape);
    Py_XDECREF(pending);
    Py_XDECREF(result.operands);
    return nullptr;
  }
  pending->in_psum = result.in_psum ? 1 : 0;
  pending->accumulates = result.accumulates ? 1 : 0;
  pending->is_explicit = result.is_explicit ? 1 : 0;
  pending->field[PendingObject::kTrace] = Py_NewRef(&trace->ob_base);
  pending->field[PendingObject::kEmit] = Py_NewRef(result.emit);
  pending->field[PendingObject::kOperands] = result.operands;
  pending->field[PendingObject::kBuffer] =
      Py_NewRef(result.in_psum ? connections.psum : connections.sbuf);
  TensorObject* tensor = nullptr;
  if (locate(trace, pending, shape)) {
    tensor = new_tensor(nullptr, shape, result.dtype, Py_None, zero, zero, zero);
  }
  if (tensor != nullptr) {
    tensor->field[TensorObject::kPending] = Py_NewRef(&pending->ob_base);
    pending->field[PendingObject::kTensor] = Py_NewRef(&tensor->ob_base);
    set_field(trace->field[TraceObject::kPending], &pending->ob_base);
  }
  Py_DECREF(shape);
  Py_DECREF(pending);
  return tensor == nullptr ? nullptr : &tensor->ob_base;
}

PyObject* trace_result(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* names) {
  ResultArguments read;
  if (!read_arguments(arguments, count, names, read)) return nullptr;
  PyObject* operands = read.value[6] == nullptr ? PyTuple_New(0) : PySequence_Tuple(read.value[6]);
  if (operands == nullptr) return nullptr;
  const bool in_psum = PyUnicode_CompareWithASCIIString(read.value[2], "psum") == 0;
  return deferred(as_trace(self), {.shape = read.value[0],
                                   .dtype = read.value[1],
                                   .emit = read.value[3],
                                   .operands = operands,
                                   .in_psum = in_psum,
                                   .accumulates = read.value[4] == Py_True,
                                   .is_explicit = read.value[5] == Py_True});
}

bool settle(TraceObject* trace) {
  if (is_absent(trace->field[TraceObject::kPending])) return true;
  PendingObject* pending = take_pending(trace);
  PyObject* tensor = Py_NewRef(pending->field[PendingObject::kTensor]);
  PyObject* name = pending->field[PendingObject::kName];
  bool good = note_tile(trace, name);
  good = good && give_tile(trace, tensor, pending->field[PendingObject::kBuffer], name,
                           pending->field[PendingObject::kPlace]);
  if (good) {
    set_field(as_tensor(tensor)->field[TensorObject::kPending], nullptr);
    good = emit_pending(trace, pending, tensor, nullptr);
  }
  Py_DECREF(tensor);
  Py_DECREF(pending);
  return good;
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
    PyFrameObject* frame = kernel_frame();
    if (frame != nullptr) {
      PyObject* place = place_of(frame);
      Py_DECREF(frame);
      if (place == nullptr || !go_to(trace, place)) return nullptr;
    } else if (PyErr_Occurred() != nullptr) {
      return nullptr;
    }
  }
  return Py_XNewRef(trace->field[TraceObject::kBuilder]);
}

PyObject* current_builder(PyObject*, PyObject*) {
  const Py_ssize_t depth = PyList_GET_SIZE(connections.running);
  if (depth > 0) return trace_builder(PyList_GET_ITEM(connections.running, depth - 1), nullptr);
  PyObject* trace = PyObject_CallNoArgs(connections.current);
  PyObject* builder = trace == nullptr ? nullptr : trace_builder(trace, nullptr);
  Py_XDECREF(trace);
  return builder;
}

}  // namespace neuron_sim::tracing
