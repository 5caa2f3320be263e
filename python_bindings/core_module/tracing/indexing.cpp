// tensor[index]: the kinds of indices, and those that select ranges: numbers, slices, nl.ds, `...`
// and None. Registers, tiles of indices and masks are in neuron_sim.nki.tracing.indexing.

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace neuron_sim::tracing {
namespace {

/// The part of a dimension that one item selects.
struct Range {
  Position start;
  int64_t count = 1;
  int64_t step = 1;
  bool stays = false;          ///< as a dimension of the result
  bool may_be_masked = false;  ///< out of range: the older language has masks for it
};

bool is_array(PyObject* item) { return is_expression(item) && as_expression(item)->rank > 0; }

bool is_dynamic_slice(PyObject* item) { return Py_TYPE(item) == connections.dynamic_slice; }

bool read_bound(PyObject* bound, int64_t size, int64_t otherwise, Position& position) {
  position.constant = otherwise;
  if (bound == Py_None) return true;
  if (is_array(bound)) return Py_XDECREF(PyNumber_Index(bound)), false;  // it is not a number
  if (!read_position(bound, position)) return false;
  if (!is_expression(bound) && position.constant < 0) position.constant += size;
  return true;
}

/// stop - start of a slice as a number.
bool read_extent(Position stop, const Position& start, int64_t& extent) {
  if (!add_scaled(stop, start, -1)) return false;
  extent = stop.constant;
  if (stop.terms == 0) return true;
  PyObject* difference = position_object(stop);
  if (difference == nullptr) return false;
  const bool good = read_integer(difference, extent);  // its loops are unrolled
  Py_DECREF(difference);
  return good;
}

bool read_slice(PyObject* tensor, PyObject* item, int64_t size, Range& range) {
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  Position stop;
  int64_t extent = 0;
  if (slice->step != Py_None && !read_integer(slice->step, range.step)) return false;
  if (range.step < 1) return refuse("slice_step", tensor, range.step);
  if (!read_bound(slice->start, size, 0, range.start) ||
      !read_bound(slice->stop, size, size, stop) || !read_extent(stop, range.start, extent)) {
    return false;
  }
  range.count = extent > 0 ? (extent - 1) / range.step + 1 : 0;
  range.stays = true;
  const auto* trace =
      reinterpret_cast<TraceObject*>(storage_of(tensor)->field[StorageObject::kTrace]);
  range.may_be_masked = trace->is_old != 0;
  return true;
}

bool read_range(PyObject* tensor, PyObject* item, int64_t size, Range& range) {
  if (PySlice_Check(item)) return read_slice(tensor, item, size, range);
  if (is_dynamic_slice(item)) {
    const auto* slice = reinterpret_cast<DynamicSliceObject*>(item);
    range.count = slice->size;
    range.stays = true;
    PyObject* start = slice->field[DynamicSliceObject::kStart];
    return !is_array(start) ? read_position(start, range.start)
                            : refuse("not_an_index", tensor, item);
  }
  if (is_expression(item)) return read_position(item, range.start);
  switch (number_of(item, range.start.constant)) {
    case Number::kNone: return refuse("not_an_index", tensor, item);
    case Number::kError: return false;
    case Number::kFound: break;
  }
  if (range.start.constant < 0) range.start.constant += size;
  return true;
}

/// The bounds of a range: known ones hold, or a mask may narrow them; others are checked later.
bool check_range(Indexing& indexing, int d, const Range& range, bool stays) {
  const int64_t size = indexing.old.shape[d];
  int64_t low = 0, high = 0;
  bounds_of(range.start, low, high);
  const bool is_known = range.start.terms == 0;
  const int64_t steps = is_known && range.count == 0 ? 0 : range.count - 1;
  if (stays) add_saturated(is_known || steps > 0 ? high : low, range.step, steps);
  if (low >= 0 && high < size) return true;
  if (is_known && (low < 0 || !range.may_be_masked)) {
    return refuse("out_of_bound", indexing.tensor, d, low, high, size);
  }
  nanobind::dict along;
  if (stays) along[nanobind::int_(indexing.made.rank)] = range.step;
  indexing.add_check(d, range.start, along);
  return true;
}

bool apply_range(Indexing& indexing, int d, PyObject* item) {
  const Pattern& old = indexing.old;
  Pattern& made = indexing.made;
  Range range;
  if (!read_range(indexing.tensor, item, old.shape[d], range)) return false;
  const bool stays = d == old.axis || range.stays;
  if (!check_range(indexing, d, range, stays)) return false;
  indexing.note(range.start, stays ? made.rank : -1, range.step);
  if (d == old.axis) {
    if (range.step != 1) return refuse("partition_stride", indexing.tensor, range.step);
    made.axis = made.rank;
  }
  int64_t step = 0;
  return made.move(old, d, range.start) && add_product(step, old.steps[d], range.step) &&
         (!stays || made.append(range.count, step));
}

/// Dimensions from `first` up to, not including, `last`, unchanged.
bool keep(Indexing& indexing, int first, int last) {
  const Pattern& old = indexing.old;
  bool good = true;
  for (int d = first; d < last && good; ++d) {
    if (d == old.axis) indexing.made.axis = indexing.made.rank;
    indexing.note({}, indexing.made.rank, 1);
    good = indexing.made.append(old.shape[d], old.steps[d]);
  }
  return good;
}

/// On chip the partition dimension stays, and at least two dimensions are left.
bool apply_ranges(Indexing& indexing, PyObject* const* items, int count) {
  const Pattern& old = indexing.old;
  Pattern& made = indexing.made;
  int added = 0, ellipsis = -1;
  for (int k = 0; k < count; ++k) {
    if (items[k] == Py_None) ++added;
    if (items[k] == Py_Ellipsis && ellipsis < 0) ellipsis = k;
  }
  const int named = count - added - (ellipsis < 0 ? 0 : 1);
  if (named > old.rank) {
    return refuse("too_many_indices", indexing.tensor, old.rank, named + added);
  }
  int d = 0;
  for (int k = 0; k < count; ++k) {
    if (k == ellipsis) {
      if (!keep(indexing, d, d + old.rank - named)) return false;
      d += old.rank - named;
    } else if (items[k] != Py_None) {
      if (!apply_range(indexing, d++, items[k])) return false;
    } else {
      if (d <= old.axis) return refuse("dimension_before_partitions", indexing.tensor);
      if (!made.append(1, 0)) return false;
    }
  }
  return keep(indexing, d, old.rank) && (made.axis < 0 || made.rank > 1 || made.append(1, 1));
}

enum class Kind { kRanges, kIndexTensors, kMixed, kOther };

/// What kind the items are; kOther when one of them may be a register, a tile or a mask.
Kind kind_of(PyObject* const* items, int count, bool numbers_only) {
  bool has_range = false, has_array = false;
  for (int d = 0; d < count; ++d) {
    PyObject* item = items[d];
    if (is_expression(item)) {
      has_array = has_array || is_array(item);
    } else if (is_dynamic_slice(item)) {
      PyObject* start =
          reinterpret_cast<DynamicSliceObject*>(item)->field[DynamicSliceObject::kStart];
      if (!numbers_only && PyLong_CheckExact(start) == 0 && !is_expression(start)) {
        return Kind::kOther;
      }
      has_range = true;
    } else if (PySlice_Check(item) || item == Py_None || item == Py_Ellipsis) {
      has_range = true;
    } else if (!numbers_only && PyLong_CheckExact(item) == 0) {
      return Kind::kOther;
    }
  }
  if (!has_array) return Kind::kRanges;
  return has_range ? Kind::kMixed : Kind::kIndexTensors;
}

/// tensor[items]; nullptr without an error when Python must handle them first.
PyObject* made_of(PyObject* tensor, PyObject* index, bool numbers_only) {
  PyObject* const* items = &index;
  int count = 1;
  if (PyTuple_Check(index) != 0) {
    items = &PyTuple_GET_ITEM(index, 0);
    count = static_cast<int>(PyTuple_GET_SIZE(index));
  }
  const Kind kind = kind_of(items, count, numbers_only);
  if (kind == Kind::kOther) return nullptr;
  if (kind == Kind::kMixed) return refuse("mixed_indices"), nullptr;
  Indexing indexing;
  if (!indexing.begin(tensor)) return nullptr;
  const bool good = kind == Kind::kIndexTensors ? apply_index_tensors(indexing, items, count)
                                                : apply_ranges(indexing, items, count);
  return good ? indexing.result() : nullptr;
}

}  // namespace

PyObject* indexed(PyObject* self, PyObject* items) { return made_of(self, items, true); }

PyObject* subscript(PyObject* self, PyObject* index) {
  if (!settle_tensor(self)) return nullptr;
  if (index == Py_Ellipsis) return Py_NewRef(self);
  Part known;
  if (known.find(self, index)) return Py_NewRef(known.part);
  PyObject* part = made_of(self, index, false);
  if (part != nullptr) known.keep(part);
  if (part == nullptr && PyErr_Occurred() == nullptr) return call_method(self, "_indexed", index);
  if (part == nullptr && PyErr_ExceptionMatches(PyExc_OverflowError) != 0) {
    PyErr_Clear();
    refuse("indices_too_large", self);
  }
  return part;
}

}  // namespace neuron_sim::tracing
