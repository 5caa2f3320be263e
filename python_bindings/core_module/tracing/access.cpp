// The View of a tensor's access pattern, after its bounds were checked.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/base/bounds.h"
#include "device/isa/tensor/microscaling.h"
#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

Affine affine_at(const Position& position) {
  Affine affine(position.constant);
  for (int i = 0; i < position.terms; ++i) {
    const Term& term = position.term[static_cast<size_t>(i)];
    affine += nb::cast<const Affine&>(nb::handle(term.loop->field[LoopObject::kAffine])) *
              term.coefficient;
  }
  return affine;
}

/// Merges the dimensions from `first` on into as few as possible, in the same element order.
void merge(std::vector<Dimension>& dimensions, size_t first) {
  size_t kept = first;
  for (size_t i = first; i < dimensions.size(); ++i) {
    const Dimension next = dimensions[i];
    if (next.size == 1) continue;
    const bool continues = kept > first && dimensions[kept - 1].stride == next.stride * next.size;
    if (!continues) ++kept;
    dimensions[kept - 1] = {continues ? dimensions[kept - 1].size * next.size : next.size,
                            next.stride};
  }
  dimensions.resize(kept);
  if (kept == first) dimensions.push_back({1, 1});
}

/// The View of the storage as elements of the tensor's dtype.
nb::object whole_of(const TensorObject* tensor) {
  PyObject* storage = tensor->field[TensorObject::kStorage];
  PyObject* dtype = tensor->field[TensorObject::kDtype];
  const auto* fields = reinterpret_cast<StorageObject*>(storage);
  if (dtype == fields->field[StorageObject::kDtype]) {
    return nb::borrow(fields->field[StorageObject::kWhole]);
  }
  return nb::handle(storage).attr("whole_as")(nb::handle(dtype));
}

/// Sizes and steps for the View of a pattern; false with an error.
bool read_dimensions(TensorObject* tensor, const Pattern& pattern,
                     std::vector<Dimension>& dimensions) {
  PyObject* index = tensor->field[TensorObject::kIndex];
  const int first = std::max(pattern.axis, 0);
  for (int d = 0; d < first; ++d) {
    if (pattern.shape[d] != 1) return refuse("blocks_before_partitions", &tensor->ob_base);
  }
  for (int d = first; d < pattern.rank; ++d) {
    dimensions.push_back({pattern.shape[d], pattern.steps[d]});
  }
  const bool is_indirect = pattern.axis < 0 && !is_absent(index);
  if (is_indirect) {
    int64_t rows = 0, stride = 0;
    if (!read_integer(tensor->field[TensorObject::kIndexRows], rows) ||
        !read_integer(tensor->field[TensorObject::kIndexStride], stride)) {
      return false;
    }
    dimensions.at(0) = {std::min(pattern.shape[0], rows), stride};
  }
  if (dimensions.size() > kMaximumRank) merge(dimensions, pattern.axis < 0 && !is_indirect ? 0 : 1);
  if (dimensions.empty()) dimensions.push_back({1, 1});
  return true;
}

/// Turns the error of the View's refusal into NotOnePattern when splitting resolves it.
void explain_refusal(const std::vector<Dimension>& dimensions) {
  const bool has_none = std::any_of(dimensions.begin(), dimensions.end(),
                                    [](const Dimension& each) { return each.stride < 0; });
  if ((!has_none && dimensions.size() <= kMaximumRank) ||
      PyErr_ExceptionMatches(PyExc_ValueError) == 0) {
    return;
  }
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_SetObject(connections.not_one_pattern, error);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
}

/// The View with its run-time part: a register or an index tile.
nb::object with_dynamic_parts(TensorObject* tensor, const Pattern& pattern, nb::object view) {
  if (!is_absent(tensor->field[TensorObject::kRegister])) {
    view = nb::handle(&tensor->ob_base).attr("_at_register")(view);
  }
  if (pattern.axis >= 0 || is_absent(tensor->field[TensorObject::kIndex])) return view;
  int64_t rows = 0;
  if (!read_integer(tensor->field[TensorObject::kIndexRows], rows)) throw nb::python_error();
  const auto& plain = nb::cast<const View&>(view);
  return nb::cast(pattern.shape[0] <= rows ? plain.indirect(rows)
                                           : plain.indirect(rows, pattern.shape[0]));
}

/// The View of a tensor that has a storage. New reference.
PyObject* made_access(TensorObject* tensor) {
  static std::vector<Dimension> kept;  // reuses its memory, guarded by the GIL
  std::vector<Dimension> dimensions = std::exchange(kept, {});
  dimensions.clear();
  Pattern pattern;
  if (!is_absent(tensor->field[TensorObject::kDynamic])) {
    return refuse("dynamic_index", &tensor->ob_base), nullptr;
  }
  if (!run_checks(&tensor->ob_base) || !read_pattern(tensor, pattern) ||
      !read_dimensions(tensor, pattern, dimensions)) {
    return nullptr;
  }
  const nb::object whole = whole_of(tensor);
  nb::object view;
  try {
    view = nb::cast(nb::cast<const View&>(whole).pattern(dimensions, affine_at(pattern.start),
                                                         affine_at(pattern.partition)));
  } catch (...) {
    raised();
    explain_refusal(dimensions);
    return nullptr;
  }
  kept = std::move(dimensions);
  return with_dynamic_parts(tensor, pattern, view).release().ptr();
}

/// In loops, the last use of a tensor matters.
bool note_use(StorageObject* storage) {
  auto* trace = reinterpret_cast<TraceObject*>(storage->field[StorageObject::kTrace]);
  const int is_open =
      PySet_Contains(trace->field[TraceObject::kScopes], storage->field[StorageObject::kScope]);
  if (is_open < 0) return false;
  if (is_open == 0) {
    PyObject* done = PyObject_CallMethod(&trace->ob_base, "check_scope", "O", storage);
    if (done == nullptr) return false;
    Py_DECREF(done);
  }
  if (PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0) {
    storage->uses += 1;
    storage->last_use = ++trace->uses;
  }
  return true;
}

}  // namespace

PyObject* access_of(TensorObject* tensor) {
  using Field = TensorObject;
  if (!settle_tensor(&tensor->ob_base)) return nullptr;
  PyObject* view = tensor->field[Field::kAccess];
  if (!is_absent(view)) {
    Py_INCREF(view);
  } else {
    try {
      view = made_access(tensor);
    } catch (...) {
      return raised();
    }
    if (view == nullptr) return nullptr;
    if (is_absent(tensor->field[Field::kRegister])) set_field(tensor->field[Field::kAccess], view);
  }
  if (note_use(reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage]))) return view;
  Py_DECREF(view);
  return nullptr;
}

PyObject* affine_of(PyObject* expression, void*) {
  Position position;
  if (!read_position(expression, position)) return nullptr;
  try {
    return nb::cast(affine_at(position)).release().ptr();
  } catch (...) {
    return raised();
  }
}

void bind_merged(nb::module_& module) {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  module.attr("MAXIMUM_RANK") = kMaximumRank;
  module.attr("QUADRANT_PARTITIONS") = kQuadrantPartitions;
  module.def(
      "merged",
      [](const Pairs& pairs) {
        std::vector<Dimension> dimensions;
        for (const auto& [step, size] : pairs) dimensions.push_back({size, step});
        merge(dimensions, 0);
        Pairs result;
        for (const Dimension& each : dimensions) result.emplace_back(each.stride, each.size);
        return result;
      },
      nb::arg("dimensions"),
      "The same elements in the same order with as few (step, size) as possible.");
}

}  // namespace neuron_sim::tracing
