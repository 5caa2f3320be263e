// The part of a tensor that a mask leaves, and the bounds of indices, which a mask may narrow.

#include <algorithm>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// A check of an index: start + sum of step * position is below the size of a dimension.
struct Check {
  int64_t dimension = 0;
  Position start;
  PyObject* steps;  ///< borrowed: dict of a dimension of the tile -> step
  int64_t size = 0;
};

bool read_check(PyObject* object, Check& check) {
  PyObject* start = nullptr;
  long long dimension = 0, size = 0;
  if (PyArg_ParseTuple(object, "LOO!L", &dimension, &start, &PyDict_Type, &check.steps, &size) ==
      0) {
    return false;
  }
  check.dimension = dimension;
  check.size = size;
  return read_position(start, check.start);
}

/// Calls use(dimension, step) for the steps of a check; false with an error.
template <class Use>
bool for_steps(const Check& check, int rank, Use use) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(check.steps, &at, &key, &value) != 0;) {
    int64_t d = 0, step = 0;
    if (!read_integer(key, d) || !read_integer(value, step)) return false;
    if (d >= 0 && d < rank) use(d, step);
  }
  return true;
}

/// The smallest and largest index in a tile of a shape; false with an error.
bool extremes(const Check& check, const int64_t* shape, int rank, int64_t& low, int64_t& high) {
  bounds_of(check.start, low, high);
  return for_steps(check, rank, [&](int64_t d, int64_t step) {
    add_saturated(step * (shape[d] - 1) < 0 ? low : high, step, shape[d] - 1);
  });
}

/// The checks of a tensor that a box does not satisfy, moved to its start; an invalid object with
/// an error. `moved`: positions per dimension.
nb::object checks_of(PyObject* checks, const Pattern& box, const int64_t* moved) {
  nb::list left;
  if (PyTuple_Check(checks) == 0) return nb::steal(wrong_type("checks", "a tuple", checks));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); ++i) {
    Check check;
    int64_t low = 0, high = 0, along = 0;
    const bool good =
        read_check(PyTuple_GET_ITEM(checks, i), check) &&
        for_steps(check, box.rank, [&](int64_t d, int64_t step) { along += step * moved[d]; }) &&
        add_product(check.start.constant, along, 1) &&
        extremes(check, box.shape, box.rank, low, high);
    if (!good) return {};
    if (low >= 0 && high < check.size) continue;
    left.append(nb::make_tuple(check.dimension, nb::steal(position_object(check.start)),
                               nb::handle(check.steps), check.size));
  }
  return nb::tuple(left);
}

/// The check of a tensor as one of what `indexing` selects, unless it holds there; false with an
/// error.
bool inherit_check(Indexing& indexing, PyObject* object) {
  Check check;
  if (!read_check(object, check)) return false;
  bool good = true;
  nb::dict steps;
  const auto follow = [&](int64_t d, int64_t step) {
    const IndexedDimension& along = indexing.dimensions.at(static_cast<size_t>(d));
    good = good && add_scaled(check.start, along.start, step);
    for (auto [key, value] : along.steps) {
      const int64_t before = steps.contains(key) ? nb::cast<int64_t>(steps[key]) : 0;
      steps[key] = before + step * nb::cast<int64_t>(value);
    }
  };
  if (!for_steps(check, indexing.old.rank, follow) || !good) return false;
  check.steps = steps.ptr();
  int64_t low = 0, high = 0;
  if (!extremes(check, indexing.made.shape, indexing.made.rank, low, high)) return false;
  if (low >= 0 && high < check.size) return true;
  if (!indexing.checks.is_valid()) indexing.checks = nb::list();
  nb::cast<nb::list>(indexing.checks)
      .append(nb::make_tuple(check.dimension, nb::steal(position_object(check.start)), steps,
                             check.size));
  return true;
}

/// The pattern in a box, (start, size) per dimension, and where that starts; false with an error.
/// Dimensions of size 1 are broadcast ones and stay.
bool cut(const Pattern& old, PyObject* box, Pattern& pattern, int64_t* moved) {
  pattern = old;
  std::fill_n(moved, old.rank, 0);
  for (int d = 0; d < old.rank && d < PyTuple_GET_SIZE(box); ++d) {
    long long first = 0, size = 0;
    PyObject* range = PyTuple_GET_ITEM(box, d);
    if (PyTuple_Check(range) == 0) return wrong_type("box", "pairs (start, size)", range) != nullptr;
    if (PyArg_ParseTuple(range, "LL", &first, &size) == 0) return false;
    if (old.shape[d] == 1) continue;
    Position by;
    by.constant = moved[d] = first;
    pattern.shape[d] = size;
    if (!pattern.move(old, d, by)) return false;
  }
  return true;
}

/// The index tile of a tensor in the first dimension of a box; false with an error.
bool narrow_index(const TensorObject* tensor, PyObject* box, TensorObject* narrowed) {
  using Field = TensorObject;
  PyObject* first = PyTuple_GetSlice(box, 0, 1);
  if (first == nullptr) return false;
  PyObject* index = call_method(tensor->field[Field::kIndex], "narrow", first);
  Py_DECREF(first);
  if (index == nullptr) return false;
  set_field(narrowed->field[Field::kIndex], index);
  Py_DECREF(index);
  set_field(narrowed->field[Field::kIndexRows], tensor->field[Field::kIndexRows]);
  set_field(narrowed->field[Field::kIndexStride], tensor->field[Field::kIndexStride]);
  return true;
}

}  // namespace

bool inherit_checks(Indexing& indexing) {
  PyObject* checks = as_tensor(indexing.tensor)->field[TensorObject::kChecks];
  if (PyTuple_Check(checks) == 0) return wrong_type("checks", "a tuple", checks) != nullptr;
  try {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); ++i) {
      if (!inherit_check(indexing, PyTuple_GET_ITEM(checks, i))) return false;
    }
  } catch (...) {
    return raised() != nullptr;
  }
  return true;
}

namespace {

PyObject* made_narrow(PyObject* self, PyObject* box) {
  using Field = TensorObject;
  const TensorObject* tensor = as_tensor(self);
  Pattern old, pattern;
  int64_t moved[kMaximumDimensions];
  if (!read_pattern(as_tensor(self), old) || !cut(old, box, pattern, moved)) return nullptr;
  nb::object checks;
  if (!is_absent(tensor->field[Field::kChecks])) {
    checks = checks_of(tensor->field[Field::kChecks], pattern, moved);
    if (!checks.is_valid()) return nullptr;
  }
  nb::object made = nb::steal(same_storage(self, pattern));
  if (!made.is_valid()) return nullptr;
  if (checks.is_valid() && nb::len(checks) > 0) {
    set_field(as_tensor(made.ptr())->field[Field::kChecks], checks.ptr());
  }
  if (!is_absent(tensor->field[Field::kIndex]) &&
      !narrow_index(tensor, box, as_tensor(made.ptr()))) {
    return nullptr;
  }
  return made.release().ptr();
}

/// Whether it is a tensor in HBM, of which loops over masked parts take the same ones again.
bool is_plain_in_hbm(PyObject* self) {
  using Field = TensorObject;
  if (!is_tensor(self)) return false;
  const TensorObject* tensor = as_tensor(self);
  return tensor->field[Field::kAxis] == Py_None && !is_absent(tensor->field[Field::kStorage]) &&
         is_absent(tensor->field[Field::kIndex]) && is_absent(tensor->field[Field::kRegister]) &&
         is_absent(tensor->field[Field::kDynamic]);
}

}  // namespace

PyObject* narrow(PyObject* self, PyObject* box) {
  if (PyTuple_Check(box) == 0) return wrong_type("box", "a tuple", box);
  PyObject* index = is_plain_in_hbm(self) ? index_of_pairs(box, Py_Ellipsis) : nullptr;
  if (index == nullptr) return PyErr_Occurred() == nullptr ? made_narrow(self, box) : nullptr;
  Part known;
  PyObject* part = known.find(self, index) ? Py_NewRef(known.part) : made_narrow(self, box);
  if (known.part == nullptr && part != nullptr) known.keep(part);
  Py_DECREF(index);
  return part;
}

bool run_checks(PyObject* tensor) {
  PyObject* checks = as_tensor(tensor)->field[TensorObject::kChecks];
  if (is_absent(checks)) return true;
  if (PyTuple_Check(checks) == 0) return wrong_type("checks", "a tuple", checks) != nullptr;
  int64_t shape[kMaximumDimensions];
  int rank = 0;
  if (!read_sizes(as_tensor(tensor)->field[TensorObject::kShape], shape, rank)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(checks); ++i) {
    Check check;
    int64_t low = 0, high = 0;
    if (!read_check(PyTuple_GET_ITEM(checks, i), check) ||
        !extremes(check, shape, rank, low, high)) {
      return false;
    }
    if (low < 0 || high >= check.size) {
      return refuse("out_of_bound", tensor, check.dimension, low, high, check.size);
    }
  }
  return true;
}

PyObject* checked(PyObject* self, PyObject*) {
  if (!run_checks(self)) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace neuron_sim::tracing
