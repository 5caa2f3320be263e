// Parts of tensors that a kernel names again: unrolled loops slice the same tiles at the same
// numbers, and the part with its View is the one that was made before.

#include "python_bindings/core_module/tracing/recent_slices.h"

#include <algorithm>
#include <utility>

#include "python_bindings/core_module/tracing/integers.h"

namespace neuron_sim::tracing {
namespace {

/// What the numbers that follow are.
enum : int64_t { kNumber, kNone, kEllipsis, kSlice, kExpression, kWindow, kTuple, kPairs };

}  // namespace

bool Part::append(PyObject* item) {
  if (PyLong_CheckExact(item) != 0) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(item, &overflow);
    return overflow == 0 && key_.append(kNumber) && key_.append(number);
  }
  if (item == Py_None) return key_.append(kNone);
  if (item == Py_Ellipsis) return key_.append(kEllipsis);
  if (PySlice_Check(item)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    return key_.append(kSlice) && append(slice->start) && append(slice->stop) &&
           append(slice->step);
  }
  if (is_expression(item)) {
    return key_.append(kExpression) && key_.append(expression_of(item));
  }
  if (Py_TYPE(item) == slice_type) {
    const auto* window = static_cast<DynamicSliceObject*>(item);
    return key_.append(kWindow) && key_.append(static_cast<int64_t>(window->size)) &&
           append(window->start.ptr());
  }
  if (PyTuple_CheckExact(item) == 0 || !key_.append(kTuple) ||
      !key_.append(static_cast<int64_t>(PyTuple_GET_SIZE(item)))) {
    return false;
  }
  const Objects items = span_of(item);
  return std::all_of(items.begin(), items.end(), [this](PyObject* each) { return append(each); });
}

bool Part::append_pairs(PyObject* pairs) {
  const auto items_of = [](PyObject* object) -> Objects {
    if (PyList_CheckExact(object) == 0 && PyTuple_CheckExact(object) == 0) return {};
    return {PySequence_Fast_ITEMS(object), static_cast<size_t>(PySequence_Fast_GET_SIZE(object))};
  };
  const Objects all = items_of(pairs);
  bool is_key =
      !all.empty() && key_.append(kPairs) && key_.append(static_cast<int64_t>(all.size()));
  for (size_t i = 0; is_key && i < all.size(); ++i) {
    const Objects pair = items_of(all[i]);
    is_key = pair.size() == 2 && PyLong_CheckExact(pair[0]) != 0 &&
             PyLong_CheckExact(pair[1]) != 0 && append(pair[0]) && append(pair[1]);
  }
  return is_key;
}

PyObject* Part::find() {
  if (!is_tensor(tensor_)) return nullptr;
  trace_ = as_trace(storage_of(tensor_)->trace);
  const std::optional<size_t> place = trace_->keys.find(key_);
  return place ? trace_->parts[*place][2].ptr() : nullptr;
}

void Part::keep(PyObject* made, PyObject* index) const {
  if (trace_ == nullptr || !is_tensor(made)) return;
  auto& part = trace_->parts[trace_->keys.keep(key_)];
  const auto dropped = std::move(part);  // which goes when all is in place
  set_field(part[0], tensor_);
  set_field(part[1], index);
  set_field(part[2], made);
}

}  // namespace neuron_sim::tracing
