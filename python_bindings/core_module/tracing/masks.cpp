// The parts of tiles that masks leave: a rectangle (a box), or one per position of the dimensions
// that a mask couples with another.

#include <algorithm>
#include <functional>
#include <vector>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {
namespace {

constexpr int64_t kMaximumBoxes = 4096;

struct Box {
  int64_t first[kMaximumDimensions];
  int64_t last[kMaximumDimensions];

  bool is_empty(int rank) const {
    return std::mismatch(first, first + rank, last, std::less<>()).first != first + rank;
  }
};

/// constant + sum of step * position in a dimension of the tile, which has to be at least 0.
struct Condition {
  int64_t constant;
  int64_t steps[kMaximumDimensions];
};

/// The part of a tile that conditions leave.
struct Cut {
  PyObject* mask;
  int rank = 0;
  int64_t shape[kMaximumDimensions];
  Box box;                         ///< of the conditions on one dimension
  std::vector<Condition> coupled;  ///< those on several
  std::vector<Box> boxes;
};

bool does_not_fit(const Cut& cut) {
  PyObject* shape = tuple_of(cut.shape, cut.rank);
  refuse("mask_does_not_fit", cut.mask, shape);
  Py_XDECREF(shape);
  return false;
}

/// constant + step * position >= 0 limits the positions of a dimension.
void restrict(Box& box, int d, int64_t constant, int64_t step) {
  if (step > 0) {
    box.first[d] = std::max(box.first[d], -floor_quotient(constant, step));
  } else {
    box.last[d] = std::min(box.last[d], floor_quotient(constant, -step) + 1);
  }
}

/// Adds a condition that does not hold everywhere; false with an error when it does not fit.
bool add(Cut& cut, const ExpressionObject* expression) {
  Condition condition{expression->constant, {}};
  const int missing = cut.rank - expression->rank;
  int along = -1, count = 0;
  for (int j = 0; j < expression->rank; ++j) {
    const int d = missing + j;
    const int64_t size = expression->shape[j];
    if (size == 1) continue;  // its position is 0
    if (d < 0 || (expression->steps[j] != 0 && size != cut.shape[d])) return does_not_fit(cut);
    condition.steps[d] = expression->steps[j];
    if (condition.steps[d] == 0) continue;
    along = d;
    ++count;
  }
  if (count > 1) {
    cut.coupled.push_back(condition);
  } else {
    restrict(cut.box, along, condition.constant, condition.steps[along]);
  }
  return true;
}

/// Adds a box; positions of one outer dimension with the same extent become one box.
void append(Cut& cut, const Box& box, const std::vector<int>& outer) {
  if (!cut.boxes.empty() && outer.size() == 1) {
    Box& last = cut.boxes.back();
    const int d = outer[0];
    bool continues = last.last[d] == box.first[d];
    for (int e = 0; e < cut.rank; ++e) {
      if (e != d)
        continues = continues && last.first[e] == box.first[e] && last.last[e] == box.last[e];
    }
    if (continues) {
      last.last[d] = box.last[d];
      return;
    }
  }
  cut.boxes.push_back(box);
}

/// The box at one position of the outer dimensions, unless it is empty.
void add_box(Cut& cut, const std::vector<int>& outer, const int64_t* positions, int inner) {
  Box box = cut.box;
  for (const int d : outer) {
    box.first[d] = positions[d];
    box.last[d] = positions[d] + 1;
  }
  for (const Condition& condition : cut.coupled) {
    int64_t fixed = condition.constant;
    for (const int d : outer) fixed += condition.steps[d] * positions[d];
    if (condition.steps[inner] != 0) {
      restrict(box, inner, fixed, condition.steps[inner]);
    } else if (fixed < 0) {
      return;
    }
  }
  if (box.first[inner] < box.last[inner]) append(cut, box, outer);
}

/// The boxes of conditions that couple dimensions: one per position of all but one of them. That
/// one is the partition dimension where it is limited from above only, because engines start at few
/// partitions; else the last. False with an error when there are too many.
bool split(Cut& cut) {
  const auto limits_above = [](const Condition& each) { return each.steps[0] < 0; };
  const bool all = std::all_of(cut.coupled.begin(), cut.coupled.end(), limits_above);
  std::vector<int> outer;
  for (int d = 0; d < cut.rank; ++d) {
    const auto has = [d](const Condition& each) { return each.steps[d] != 0; };
    if (std::any_of(cut.coupled.begin(), cut.coupled.end(), has)) outer.push_back(d);
  }
  const int inner = all ? 0 : outer.back();
  outer.erase(all ? outer.begin() : outer.end() - 1);
  int64_t count = 1;
  for (const int d : outer) count *= cut.box.last[d] - cut.box.first[d];
  if (count > kMaximumBoxes) return refuse("too_many_boxes", count, kMaximumBoxes);
  int64_t positions[kMaximumDimensions];
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number;
    for (auto d = outer.rbegin(); d != outer.rend(); ++d) {
      const int64_t size = cut.box.last[*d] - cut.box.first[*d];
      positions[*d] = cut.box.first[*d] + rest % size;
      rest /= size;
    }
    add_box(cut, outer, positions, inner);
  }
  return true;
}

PyObject* list_of(const Cut& cut) {
  nanobind::list list;
  for (const Box& box : cut.boxes) {
    PyObject* ranges = PyTuple_New(cut.rank);
    for (int i = 0; ranges != nullptr && i < cut.rank; ++i) {
      PyTuple_SET_ITEM(ranges, i,
                       Py_BuildValue("(LL)", static_cast<long long>(box.first[i]),
                                     static_cast<long long>(box.last[i] - box.first[i])));
    }
    if (ranges == nullptr) return nullptr;
    list.append(nanobind::steal(ranges));
  }
  return list.release().ptr();
}

enum class Holds { kAlways, kSometimes, kNever };

/// Whether a condition holds over all trips of the loops and positions.
Holds holds(const ExpressionObject* condition) {
  int64_t low = 0, high = 0;
  bounds_of(condition, low, high);
  if (high < 0) return Holds::kNever;
  return low < 0 ? Holds::kSometimes : Holds::kAlways;
}

/// The error of conditions that depend on loops; nullptr.
PyObject* refuse_loops(const std::vector<PyObject*>& conditions) {
  nanobind::list list;
  for (PyObject* each : conditions) list.append(nanobind::handle(each));
  return refuse("depends_on_loops", list.ptr()), nullptr;
}

/// The boxes that conditions leave: None for all, a list, or nullptr with an error.
PyObject* left_by(Cut& cut, PyObject* conditions) {
  bool depends = false;
  std::vector<PyObject*> cutting;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(conditions); ++i) {
    PyObject* each = PyTuple_GET_ITEM(conditions, i);
    if (!is_expression(each)) return wrong_type("condition", "an index expression", each);
    const Holds how = holds(as_expression(each));
    if (how == Holds::kNever) return PyList_New(0);
    if (how == Holds::kAlways) continue;
    cutting.push_back(each);
    depends = depends || as_expression(each)->terms > 0;
  }
  if (cutting.empty()) Py_RETURN_NONE;
  if (depends) return refuse_loops(cutting);
  std::fill_n(cut.box.first, cut.rank, 0);
  std::copy_n(cut.shape, cut.rank, cut.box.last);
  for (PyObject* each : cutting) {
    if (!add(cut, as_expression(each))) return nullptr;
  }
  if (cut.box.is_empty(cut.rank)) return PyList_New(0);
  if (cut.coupled.empty()) {
    cut.boxes.push_back(cut.box);
  } else if (!split(cut)) {
    return nullptr;
  }
  return list_of(cut);
}

}  // namespace

PyObject* boxes(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "boxes() takes a mask and a shape.");
    return nullptr;
  }
  PyObject* mask = arguments[0];
  if (mask == Py_None || mask == Py_True) Py_RETURN_NONE;
  if (mask == Py_False) return PyList_New(0);
  if (Py_TYPE(mask) != connections.mask) return refuse("not_a_mask", mask), nullptr;
  Cut cut;
  cut.mask = mask;
  PyObject* conditions = reinterpret_cast<MaskObject*>(mask)->field[MaskObject::kConditions];
  if (!read_sizes(arguments[1], cut.shape, cut.rank)) return nullptr;
  return left_by(cut, conditions);
}

}  // namespace neuron_sim::tracing
