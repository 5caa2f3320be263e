// Where in the kernel an instruction is: the innermost frame outside of the package.

#include <array>
#include <cstdint>
#include <unordered_map>

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {
namespace {

/// Whether the code of a frame belongs to this package, as Python says; -1 with an error.
int ask_is_internal(PyCodeObject* code) {
  PyObject* known = PyDict_GetItemWithError(connections.internal_files, code->co_filename);
  if (known != nullptr) return known == Py_True ? 1 : 0;
  if (PyErr_Occurred() != nullptr) return -1;
  PyObject* answer =
      PyObject_CallOneArg(connections.is_internal, reinterpret_cast<PyObject*>(code));
  if (answer == nullptr) return -1;
  const int result = PyObject_IsTrue(answer);
  Py_DECREF(answer);
  return result;
}

/// Whether code is the package's own; remembers the answer for a few names of files, which it owns.
int is_internal(PyCodeObject* code) {
  struct Answer {
    PyObject* file;
    int answer;
  };
  static std::array<Answer, 64> answers{};
  Answer& place = answers[(reinterpret_cast<uintptr_t>(code->co_filename) >> 4) % answers.size()];
  if (place.file == code->co_filename) return place.answer;
  const int answer = ask_is_internal(code);
  if (answer < 0) return answer;
  PyObject* old = place.file;
  place = {Py_NewRef(code->co_filename), answer};
  Py_XDECREF(old);
  return answer;
}

struct Step {
  const PyCodeObject* code;
  int at;
  bool operator==(const Step&) const = default;
};
struct HashOfStep {
  size_t operator()(const Step& step) const {
    return (reinterpret_cast<uintptr_t>(step.code) >> 4) * 31 + static_cast<size_t>(step.at);
  }
};

}  // namespace

PyFrameObject* kernel_frame() {
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const int internal = is_internal(code);
    Py_DECREF(code);
    if (internal == 0) return frame;
    PyFrameObject* back = internal < 0 ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return nullptr;
}

PyObject* place_of(PyFrameObject* frame) {
  // Places are never freed, and each holds its code: a code's address is not reused.
  static auto* places = new std::unordered_map<Step, PyObject*, HashOfStep>();
  PyCodeObject* code = PyFrame_GetCode(frame);
  const Step step{code, PyFrame_GetLasti(frame)};
  Py_DECREF(code);
  const auto found = places->find(step);
  if (found != places->end()) return found->second;
  PyObject* place = PyObject_CallOneArg(connections.place_of, reinterpret_cast<PyObject*>(frame));
  if (place != nullptr) places->emplace(step, place);
  return place;
}

PyObject* assigned_name(TraceObject* trace, PyFrameObject* frame, PyObject* place,
                        PyObject* shape) {
  PyObject* name = PyTuple_GET_ITEM(place, 1);
  const bool has_annotation = PyUnicode_GetLength(PyTuple_GET_ITEM(place, 2)) > 0;
  bool has_checks = has_annotation;
  if (PyUnicode_GetLength(name) == 0) return Py_NewRef(name);
  if (!has_checks && PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0 && trace->is_old) {
    PyObject* key = PyLong_FromVoidPtr(place);
    const int known = PySet_Contains(trace->field[TraceObject::kUnshadowed], key);
    Py_DECREF(key);
    if (known < 0) return nullptr;
    has_checks = known == 0;
  }
  if (!has_checks) return Py_NewRef(name);
  return PyObject_CallMethod(&trace->ob_base, "_name_at", "OOO", frame, place, shape);
}

}  // namespace neuron_sim::tracing
