// Where in the kernel an instruction is: the innermost frame outside of the package.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "device/base/hash.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// Whether code is the package's own; remembers the answer for a few names of files, which it owns.
bool is_internal(PyCodeObject* code) {
  struct Answer {
    nb::object file;
    bool answer = false;
  };
  static auto& answers = *new std::array<Answer, 1024>();  // Python may end before statics do
  const auto address = reinterpret_cast<uintptr_t>(code->co_filename);
  Answer& place = answers[index_of(address, answers.size())];
  if (place.file.ptr() == code->co_filename) return place.answer;
  const nb::handle asked(reinterpret_cast<PyObject*>(code));
  place.answer = nb::cast<bool>(nb::handle(connections.is_internal)(asked));
  place.file = nb::borrow(code->co_filename);
  return place.answer;
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
  std::unordered_map<Step, nb::object, HashOfStep> places;
  std::unordered_set<PyObject*> has_open_scope;  ///< of `places`
};
KnownPlaces& known_places() {
  static auto& known = *new KnownPlaces();  // Python may end before static objects do
  return known;
}

}  // namespace

nb::object kernel_frame() {
  nb::object frame = owned(PyThreadState_GetFrame(PyThreadState_Get()));
  while (frame.is_valid() && is_internal(code_of(as_frame(frame)))) {
    frame = owned(PyFrame_GetBack(as_frame(frame)));
  }
  return frame;
}

PyObject* place_of(const nb::object& frame) {
  const Step step{code_of(as_frame(frame)), PyFrame_GetLasti(as_frame(frame))};
  auto& places = known_places().places;
  const auto known = places.find(step);
  if (known != places.end()) return known->second.ptr();
  return places.emplace(step, nb::handle(connections.place_at)(frame)).first->second.ptr();
}

PyObject* place_of_frame(PyObject*, PyObject* frame) {
  if (PyFrame_Check(frame) == 0) wrong_type("frame", "a frame", frame);
  return Py_NewRef(place_of(nb::borrow(frame)));
}

PyObject* innermost_frame(PyObject*, PyObject*) {
  nb::object frame = kernel_frame();
  return frame.is_valid() ? frame.release().ptr() : Py_NewRef(Py_None);
}

void forget_places() {
  constexpr size_t kMany = 1 << 14;
  if (known_places().places.size() < kMany) return;
  known_places().has_open_scope.clear();
  known_places().places.clear();
}

bool has_open_scope(PyObject* place) { return known_places().has_open_scope.contains(place); }
void note_open_scope(PyObject* place) { known_places().has_open_scope.insert(place); }

nb::object assigned_name(TraceObject* trace, const nb::object& frame, PyObject* place,
                         const Sizes& shape) {
  nb::object name = nb::borrow(PyTuple_GET_ITEM(place, 1));
  if (PyUnicode_GetLength(name.ptr()) == 0) return name;
  bool has_checks = PyUnicode_GetLength(PyTuple_GET_ITEM(place, 2)) > 0;  // an annotation
  if (!has_checks && trace->is_old != 0 && PyList_GET_SIZE(trace->loops) > 0) {
    const nb::object key = nb::steal(PyLong_FromVoidPtr(place));
    const int known = PySet_Contains(trace->unshadowed, key.ptr());
    must(known >= 0);
    has_checks = known == 0;
  }
  if (!has_checks) return name;
  return nb::handle(trace).attr("_name_at")(frame, nb::handle(place), tuple_of(shape));
}

}  // namespace neuron_sim::tracing
