// Where in the kernel an instruction is: the innermost frame outside of the package.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// Whether the code of a frame belongs to this package, as Python says; -1 with an error.
int ask_is_internal(PyCodeObject* code) {
  const nb::object answer =
      nb::steal(PyObject_CallOneArg(connections.is_internal, reinterpret_cast<PyObject*>(code)));
  return answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
}

/// Whether code is the package's own; remembers the answer for a few names of files, which it owns.
int is_internal(PyCodeObject* code) {
  struct Answer {
    nb::object file;
    int answer = 0;
  };
  static auto& answers = *new std::array<Answer, 64>();  // Python may end before static objects do
  Answer& place = answers[(reinterpret_cast<uintptr_t>(code->co_filename) >> 4) % answers.size()];
  if (place.file.ptr() == code->co_filename) return place.answer;
  const int answer = ask_is_internal(code);
  if (answer < 0) return answer;
  place.answer = answer;
  place.file = nb::borrow(code->co_filename);
  return answer;
}

nb::object owned(PyFrameObject* frame) { return nb::steal(reinterpret_cast<PyObject*>(frame)); }
PyFrameObject* as_frame(const nb::object& frame) {
  return reinterpret_cast<PyFrameObject*>(frame.ptr());
}
/// The code of a frame, which the frame holds.
PyCodeObject* code_of(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
  nb::steal(reinterpret_cast<PyObject*>(code));
  return code;
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

/// Places by their code, which a place holds: its address is not reused before forget_places().
struct KnownPlaces {
  std::unordered_map<Step, nb::object, HashOfStep>* places;
  std::unordered_set<PyObject*>* has_open_scope;  ///< of `places`
};
const KnownPlaces& known_places() {
  // Python may end before static objects do.
  static const KnownPlaces known{new std::unordered_map<Step, nb::object, HashOfStep>(),
                                 new std::unordered_set<PyObject*>()};
  return known;
}

}  // namespace

nb::object kernel_frame() {
  nb::object frame = owned(PyThreadState_GetFrame(PyThreadState_Get()));
  while (frame.is_valid()) {
    const int internal = is_internal(code_of(as_frame(frame)));
    if (internal == 0) return frame;
    if (internal < 0) return {};
    frame = owned(PyFrame_GetBack(as_frame(frame)));
  }
  return {};
}

PyObject* place_of(const nb::object& frame) {
  const Step step{code_of(as_frame(frame)), PyFrame_GetLasti(as_frame(frame))};
  auto& places = *known_places().places;
  const auto known = places.find(step);
  if (known != places.end()) return known->second.ptr();
  nb::object place = nb::steal(PyObject_CallOneArg(connections.place_at, frame.ptr()));
  if (!place.is_valid()) return nullptr;
  return places.emplace(step, std::move(place)).first->second.ptr();
}

PyObject* place_of_frame(PyObject*, PyObject* frame) {
  if (PyFrame_Check(frame) == 0) return wrong_type("frame", "a frame", frame);
  return Py_XNewRef(place_of(nb::borrow(frame)));
}

void forget_places() {
  constexpr size_t kMany = 1 << 14;
  if (known_places().places->size() < kMany) return;
  known_places().has_open_scope->clear();
  known_places().places->clear();
}

bool has_open_scope(PyObject* place) { return known_places().has_open_scope->contains(place); }
void note_open_scope(PyObject* place) { known_places().has_open_scope->insert(place); }

PyObject* assigned_name(TraceObject* trace, const nb::object& frame, PyObject* place,
                        const Sizes& shape) {
  PyObject* name = PyTuple_GET_ITEM(place, 1);
  const bool has_annotation = PyUnicode_GetLength(PyTuple_GET_ITEM(place, 2)) > 0;
  bool has_checks = has_annotation;
  if (PyUnicode_GetLength(name) == 0) return Py_NewRef(name);
  if (!has_checks && PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0 && trace->is_old) {
    const nb::object key = nb::steal(PyLong_FromVoidPtr(place));
    const int known = PySet_Contains(trace->field[TraceObject::kUnshadowed], key.ptr());
    if (known < 0) return nullptr;
    has_checks = known == 0;
  }
  if (!has_checks) return Py_NewRef(name);
  return PyObject_CallMethod(&trace->ob_base, "_name_at", "OON", frame.ptr(), place,
                             tuple_of(shape));
}

}  // namespace neuron_sim::tracing
