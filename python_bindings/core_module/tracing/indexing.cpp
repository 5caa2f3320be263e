// tensor[index]: the kinds of indices, and those that select ranges: numbers, slices, nl.ds, `...`
// and None. Registers, tiles of indices and masks are in neuron_sim.nki.tracing.indexing.

#include <algorithm>

#include "device/base/errors.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

bool is_array(PyObject* item) { return is_expression(item) && !expression_of(item).shape.empty(); }

bool is_window(PyObject* item) { return Py_TYPE(item) == slice_type; }

PyObject* start_of(PyObject* window) { return static_cast<DynamicSliceObject*>(window)->start; }

/// A bound of a slice that is not None; null of None.
const SliceBound* read_bound(PyObject* object, SliceBound& bound) {
  if (object == Py_None) return nullptr;
  if (is_array(object)) {  // it is not a number
    nb::steal(PyNumber_Index(object));
    throw nb::python_error();
  }
  bound = {position_of(object), !is_expression(object)};
  return &bound;
}

Range range_of_slice(PyObject* tensor, PyObject* item, int64_t size) {
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  const int64_t step = slice->step == Py_None ? 1 : integer_of(slice->step);
  SliceBound start, stop;
  if (step < 1) return slice_range(nullptr, nullptr, step, size);  // which is refused
  const SliceBound* from = read_bound(slice->start, start);
  Range range = slice_range(from, read_bound(slice->stop, stop), step, size);
  PyObject* trace = storage_of(tensor)->trace;
  range.may_be_masked = as_trace(trace)->is_old != 0;
  return range;
}

[[noreturn]] void not_an_index(PyObject* tensor, PyObject* item) {
  const nb::object name = nb::handle(tensor).attr("name");
  PyErr_Format(PyExc_IndexError, "tensor `%U` cannot be indexed with %R.", name.ptr(), item);
  throw nb::python_error();
}

/// The part of a dimension that one item selects.
Range range_of(PyObject* tensor, PyObject* item, int64_t size) {
  if (PySlice_Check(item)) return range_of_slice(tensor, item, size);
  if (is_window(item)) {
    if (is_array(start_of(item))) not_an_index(tensor, item);
    const int64_t count = static_cast<DynamicSliceObject*>(item)->size;
    return {.start = position_of(start_of(item)), .count = count, .stays = true};
  }
  if (is_expression(item)) return {.start = expression_of(item).position};
  int64_t number = 0;
  if (!number_of(item, number)) not_an_index(tensor, item);
  return {.start = number < 0 ? number + size : number};
}

void apply_ranges(Subscript& subscript, PyObject* tensor, Objects items) {
  const auto added = std::count(items.begin(), items.end(), Py_None);
  const auto ellipsis = std::find(items.begin(), items.end(), Py_Ellipsis);
  const size_t others = static_cast<size_t>(added) + (ellipsis == items.end() ? 0 : 1);
  subscript.expect(items.size() - others, static_cast<size_t>(added));
  for (auto item = items.begin(); item != items.end(); ++item) {
    if (item == ellipsis) {
      subscript.skip();
    } else if (*item == Py_None) {
      subscript.add_axis();
    } else {
      subscript.take(range_of(tensor, *item, subscript.next_size()));
    }
  }
}

void apply_gather(Subscript& subscript, Objects items) {
  std::vector<GatherIndex> indices;
  for (PyObject* item : items) {
    if (is_expression(item)) {
      indices.push_back({.expression = &expression_of(item)});
    } else {
      indices.push_back({.number = position_of(item).constant});
    }
  }
  subscript.gather(indices);
}

enum class Kind { kRanges, kIndexTensors, kMixed, kOther };

/// What kind the items are; kOther when one of them may be a register, a tile or a mask.
Kind kind_of(Objects items, bool numbers_only) {
  bool has_range = false, has_array = false;
  for (PyObject* item : items) {
    if (is_expression(item)) {
      has_array = has_array || is_array(item);
    } else if (is_window(item)) {
      PyObject* start = start_of(item);
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

/// tensor[items] of a kind.
nb::object made_of(PyObject* tensor, Objects items, Kind kind) {
  if (kind == Kind::kMixed) refuse(tensor, "mixed_indices");
  refuse_dynamic(tensor);
  Subscript subscript(view_of(tensor));
  return with_name_of(tensor, [&] {
    if (kind == Kind::kIndexTensors) {
      if (!is_absent(as_tensor(tensor)->index)) {
        fail(text("tensor `", kTensorName, "`: the view is indirect already."), ErrorKind::kIndex);
      }
      apply_gather(subscript, items);
    } else {
      apply_ranges(subscript, tensor, items);
    }
    return tensor_of(tensor, subscript.result());
  });
}

/// The items of an index: those of a tuple, or the index itself.
Objects items_of(PyObject* const& index) {
  return PyTuple_Check(index) == 0 ? Objects(&index, 1) : span_of(index);
}

}  // namespace

nb::object indexed(PyObject* self, PyObject* index) {
  const auto items = items_of(index);
  return made_of(self, items, kind_of(items, true));
}

nb::object gathered(PyObject* self, PyObject* items) {
  if (PyTuple_Check(items) == 0) wrong_type("items", "a tuple", items);
  return made_of(self, items_of(items), Kind::kIndexTensors);
}

nb::object subscript(PyObject* self, PyObject* index) {
  settle_tensor(self);
  if (index == Py_Ellipsis) return nb::borrow(self);
  Part known(self);
  const bool is_fixed = known.append(index);
  if (PyObject* part = is_fixed ? known.find() : nullptr) return nb::borrow(part);
  const auto items = items_of(index);
  const Kind kind = kind_of(items, false);
  if (kind == Kind::kOther) return nb::handle(self).attr("_indexed")(nb::handle(index));
  nb::object part;
  with_name_of(self, [&] {
    try {
      part = made_of(self, items, kind);
    } catch (const IndexOverflow&) {
      fail(text("tensor `", kTensorName, "`: an index is beyond 64 bits."));
    }
  });
  known.keep(part.ptr(), index);
  return part;
}

}  // namespace neuron_sim::tracing
