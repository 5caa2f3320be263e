// tensor[index] for slices, numbers, nl.ds and index expressions whose bounds hold. Whatever else
// an index is, or when it is wrong, neuron_sim.nki.tracing.indexing has it with its error texts.

#include <algorithm>

#include "python_bindings/core_module/tracing/traced_objects.h"

namespace neuron_sim::tracing {
namespace {

/// The pattern that indices make of a tensor, dimension by dimension.
struct Pattern {
  Position start, partition;
  nanobind::object checks;  ///< a list: of bounds that a mask has to narrow
  int rank = 0;
  int64_t shape[kMaximumDimensions];
  int64_t steps[kMaximumDimensions];

  bool append(int64_t size, int64_t step) {
    if (rank == kMaximumDimensions) return false;
    shape[rank] = size;
    steps[rank++] = step;
    return true;
  }
};

/// The tensor that is indexed, as numbers.
struct Indexed {
  bool is_on_chip = false;
  int rank = 0;
  int64_t shape[kMaximumDimensions];
  int64_t steps[kMaximumDimensions];
  Position start, partition;
};

bool read_number(PyObject* object, int64_t& number) {
  if (PyLong_CheckExact(object) == 0) return false;
  int overflow = 0;
  number = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

bool read_sizes(PyObject* tuple, int64_t* sizes, int& rank) {
  if (tuple == nullptr || PyTuple_CheckExact(tuple) == 0) return false;
  rank = static_cast<int>(PyTuple_GET_SIZE(tuple));
  if (rank > kMaximumDimensions) return false;
  for (int i = 0; i < rank; ++i) {
    if (!read_number(PyTuple_GET_ITEM(tuple, i), sizes[i])) return false;
  }
  return true;
}

bool read_indexed(const TensorObject* tensor, Indexed& indexed) {
  using Field = TensorObject;
  for (const int each : {Field::kChecks, Field::kIndex, Field::kRegister, Field::kDynamic}) {
    if (!is_absent(tensor->field[each])) return false;
  }
  PyObject* axis = tensor->field[Field::kAxis];
  int64_t number = 0;
  indexed.is_on_chip = axis != Py_None;
  if (indexed.is_on_chip && (!read_number(axis, number) || number != 0)) return false;
  int steps = 0;
  return read_sizes(tensor->field[Field::kShape], indexed.shape, indexed.rank) &&
         read_sizes(tensor->field[Field::kSteps], indexed.steps, steps) && steps == indexed.rank &&
         read_position(tensor->field[Field::kStart], indexed.start) &&
         read_position(tensor->field[Field::kPartition], indexed.partition);
}

/// What one item selects of a dimension.
struct Range {
  Position start;
  int64_t count = 1;
  bool stays = false;  ///< as a dimension of the result
};

bool read_bound(PyObject* bound, int64_t size, int64_t otherwise, Position& position) {
  if (bound == Py_None) {
    position.constant = otherwise;
    position.terms = 0;
    return true;
  }
  if (!read_position(bound, position)) return false;
  if (position.terms == 0 && position.constant < 0) position.constant += size;
  return !is_expression(bound) || as_expression(bound)->rank == 0;
}

bool read_slice(PyObject* item, int64_t size, Range& range) {
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  Position stop;
  if (slice->step != Py_None || !read_bound(slice->start, size, 0, range.start) ||
      !read_bound(slice->stop, size, size, stop) || !add_scaled(stop, range.start, -1)) {
    return false;
  }
  range.count = stop.constant;
  range.stays = true;
  return stop.terms == 0;
}

bool read_dynamic_slice(PyObject* item, Range& range) {
  const auto* slice = reinterpret_cast<DynamicSliceObject*>(item);
  PyObject* start = slice->field[DynamicSliceObject::kStart];
  range.count = slice->size;
  range.stays = true;
  return !is_absent(start) && read_position(start, range.start) &&
         (!is_expression(start) || as_expression(start)->rank == 0);
}

bool read_range(PyObject* item, int64_t size, Range& range) {
  if (PySlice_Check(item)) return read_slice(item, size, range);
  if (Py_TYPE(item) == connections.dynamic_slice) return read_dynamic_slice(item, range);
  if (!read_position(item, range.start)) return false;
  if (range.start.terms == 0 && range.start.constant < 0 && !is_expression(item)) {
    range.start.constant += size;
  }
  return true;
}

bool is_within(const Position& start, int64_t below, int64_t above, int64_t size) {
  int64_t low = 0, high = 0;
  bounds_of(start, low, high);
  add_saturated(low, below, 1);
  add_saturated(high, above, 1);
  return low >= 0 && high < size;
}

/// Ints, slices and nl.ds. On chip the partition dimension stays; two dimensions are left at least.
bool apply_ranges(const Indexed& tensor, PyObject* const* items, int count, Pattern& pattern) {
  if (count > tensor.rank) return false;
  for (int d = 0; d < tensor.rank; ++d) {
    if (d >= count) {
      if (!pattern.append(tensor.shape[d], tensor.steps[d])) return false;
      continue;
    }
    Range range;
    const bool is_partition = d == 0 && tensor.is_on_chip;
    if (!read_range(items[d], tensor.shape[d], range) || range.count < 1 ||
        !is_within(range.start, 0, range.count - 1, tensor.shape[d]) ||
        !add_scaled(is_partition ? pattern.partition : pattern.start, range.start,
                    tensor.steps[d])) {
      return false;
    }
    if ((range.stays || is_partition) && !pattern.append(range.count, tensor.steps[d]))
      return false;
  }
  return !tensor.is_on_chip || pattern.rank > 1 || pattern.append(1, 1);
}

/// The broadcast shape of index expressions and ints.
bool read_box(PyObject* const* items, int count, Pattern& box) {
  for (int d = 0; d < count; ++d) {
    if (is_expression(items[d])) box.rank = std::max(box.rank, as_expression(items[d])->rank);
  }
  for (int j = 0; j < box.rank; ++j) {
    box.shape[j] = 1;
    box.steps[j] = 0;
  }
  for (int d = 0; d < count; ++d) {
    if (!is_expression(items[d])) continue;
    const ExpressionObject* each = as_expression(items[d]);
    for (int j = 0; j < each->rank; ++j) {
      int64_t& size = box.shape[box.rank - each->rank + j];
      if (size != each->shape[j] && size != 1 && each->shape[j] != 1) return false;
      if (size == 1) size = each->shape[j];
    }
  }
  return box.rank > 1;
}

/// The steps of the partition index: only along the first dimension of the tile, one by one.
bool index_partitions(const Indexed& tensor, const ExpressionObject* item, Pattern& pattern) {
  const int missing = pattern.rank - item->rank;
  pattern.steps[0] = 0;
  for (int j = 0; j < item->rank; ++j) {
    if (item->steps[j] == 0) continue;
    if (missing + j != 0 && pattern.shape[missing + j] != 1) return false;
    if (missing + j == 0 && item->steps[j] != 1 && pattern.shape[0] > 1) return false;
    pattern.steps[0] = tensor.steps[0];
  }
  return true;
}

/// What Tensor.checks has of an index: (dimension, start, {dimension of the tile: step}, size).
void add_check(const Indexed& tensor, int d, PyObject* item, const Range& range, Pattern& pattern) {
  nanobind::dict steps;
  if (is_expression(item)) {
    const ExpressionObject* expression = as_expression(item);
    const int missing = pattern.rank - expression->rank;
    for (int j = 0; j < expression->rank; ++j) {
      if (expression->steps[j] != 0) steps[nanobind::int_(missing + j)] = expression->steps[j];
    }
  }
  if (!pattern.checks.is_valid()) pattern.checks = nanobind::list();
  nanobind::cast<nanobind::list>(pattern.checks)
      .append(nanobind::make_tuple(d, nanobind::steal(position_object(range.start)), steps,
                                   tensor.shape[d]));
}

/// Adds one index of several; false when its kind is not handled here.
bool apply_expression(const Indexed& tensor, int d, PyObject* item, Pattern& pattern) {
  Range range;
  if (!read_range(item, tensor.shape[d], range)) return false;
  int64_t below = 0, above = 0;
  const bool is_partition = d == 0 && tensor.is_on_chip;
  if (is_expression(item)) {
    const ExpressionObject* expression = as_expression(item);
    const int missing = pattern.rank - expression->rank;
    for (int j = 0; j < expression->rank; ++j) {
      const int64_t step = expression->steps[j];
      add_saturated(step < 0 ? below : above, step, pattern.shape[missing + j] - 1);
      if (!is_partition && !add_product(pattern.steps[missing + j], step, tensor.steps[d])) {
        return false;
      }
    }
    if (is_partition && !index_partitions(tensor, expression, pattern)) return false;
  }
  if (!is_within(range.start, below, above, tensor.shape[d])) {
    add_check(tensor, d, item, range, pattern);
  }
  return add_scaled(is_partition ? pattern.partition : pattern.start, range.start, tensor.steps[d]);
}

/// Index expressions of arange: strides[j] = sum of stride_d * coefficient of index d in j.
bool apply_expressions(const Indexed& tensor, PyObject* const* items, int count, Pattern& pattern) {
  if (count > tensor.rank || !read_box(items, count, pattern)) return false;
  for (int d = 0; d < count; ++d) {
    if (!apply_expression(tensor, d, items[d], pattern)) return false;
  }
  if (tensor.is_on_chip && pattern.steps[0] == 0 && pattern.shape[0] == 1) pattern.steps[0] = 1;
  for (int d = count; d < tensor.rank; ++d) {
    if (!pattern.append(tensor.shape[d], tensor.steps[d])) return false;
  }
  return true;
}

/// A tuple of these numbers: `like` itself when it has the same.
PyObject* tuple_of(const int64_t* numbers, int count, PyObject* like, const int64_t* old) {
  if (PyTuple_GET_SIZE(like) == count && std::equal(numbers, numbers + count, old)) {
    return Py_NewRef(like);
  }
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != nullptr && i < count; ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(numbers[i]));
  }
  return tuple;
}

PyObject* tensor_of(const TensorObject* tensor, const Indexed& indexed, const Pattern& pattern) {
  using Field = TensorObject;
  PyObject* shape =
      tuple_of(pattern.shape, pattern.rank, tensor->field[Field::kShape], indexed.shape);
  PyObject* steps =
      tuple_of(pattern.steps, pattern.rank, tensor->field[Field::kSteps], indexed.steps);
  PyObject* partition = position_object(pattern.partition);
  PyObject* start = position_object(pattern.start);
  TensorObject* made = nullptr;
  if (shape != nullptr && steps != nullptr && partition != nullptr && start != nullptr) {
    made = new_tensor(tensor->field[Field::kStorage], shape, tensor->field[Field::kDtype], steps,
                      tensor->field[Field::kAxis], partition, start);
  }
  for (PyObject* each : {shape, steps, partition, start}) Py_XDECREF(each);
  if (made != nullptr && pattern.checks.is_valid()) {
    made->field[Field::kChecks] = nanobind::tuple(pattern.checks).release().ptr();
  }
  return made == nullptr ? nullptr : &made->ob_base;
}

/// Whether all items are known here, and whether one of them is an index expression of arange.
bool classify(PyObject* const* items, int count, bool& has_arange) {
  bool has_range = false;
  for (int d = 0; d < count; ++d) {
    PyObject* item = items[d];
    if (is_expression(item)) {
      has_arange = has_arange || as_expression(item)->rank > 0;
    } else if (PySlice_Check(item) || Py_TYPE(item) == connections.dynamic_slice) {
      has_range = true;
    } else if (PyLong_CheckExact(item) == 0) {
      return false;
    }
  }
  return !(has_range && has_arange);
}

}  // namespace

PyObject* plain_subscript(TensorObject* tensor, PyObject* index) {
  PyObject* const* items = &index;
  int count = 1;
  if (PyTuple_CheckExact(index) != 0) {
    items = &PyTuple_GET_ITEM(index, 0);
    count = static_cast<int>(PyTuple_GET_SIZE(index));
  }
  bool has_arange = false;
  Indexed indexed;
  if (count > kMaximumDimensions || !classify(items, count, has_arange) ||
      !read_indexed(tensor, indexed)) {
    return nullptr;
  }
  Pattern pattern;
  pattern.start = indexed.start;
  pattern.partition = indexed.partition;
  const bool good = has_arange ? apply_expressions(indexed, items, count, pattern)
                               : apply_ranges(indexed, items, count, pattern);
  if (!good) PyErr_Clear();  // what is beyond 64 bits is beyond the tensor as well
  return good ? tensor_of(tensor, indexed, pattern) : nullptr;
}

PyObject* subscript(PyObject* self, PyObject* index) {
  TensorObject* tensor = as_tensor(self);
  if (!settle_tensor(self)) return nullptr;
  if (index == Py_Ellipsis) return Py_NewRef(self);
  PyObject* part = plain_subscript(tensor, index);
  if (part != nullptr || PyErr_Occurred() != nullptr) return part;
  return call_method(self, "_indexed", index);
}

}  // namespace neuron_sim::tracing
