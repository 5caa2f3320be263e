// Parts of tensors that a kernel names again: unrolled loops slice the same tiles at the same
// numbers, and the part with its View is the one that was made before.

#include "python_bindings/core_module/tracing/recent_slices.h"

#include <algorithm>
#include <utility>

#include "device/base/hash.h"
#include "python_bindings/core_module/tracing/integers.h"

namespace neuron_sim::tracing {
namespace {

/// What the numbers that follow are.
enum : int64_t { kNumber, kNone, kEllipsis, kSlice, kExpression, kWindow, kTuple, kPairs };

}  // namespace

bool Part::append(int64_t number) {
  if (count_ == numbers_.size()) return false;
  numbers_[count_++] = number;
  return true;
}

bool Part::append(const IndexExpression& expression) {
  const auto append_all = [this](const Sizes& sizes) {
    return append(static_cast<int64_t>(sizes.size())) &&
           std::all_of(sizes.begin(), sizes.end(), [this](int64_t size) { return append(size); });
  };
  const auto& terms = expression.position.terms;
  return append(kExpression) && append(expression.position.constant) &&
         append(static_cast<int64_t>(terms.size())) &&
         std::all_of(terms.begin(), terms.end(),
                     [this](const Term& term) {
                       return append(reinterpret_cast<intptr_t>(term.loop)) &&
                              append(term.coefficient);
                     }) &&
         append_all(expression.shape) && append_all(expression.steps);
}

bool Part::append(PyObject* item) {
  if (PyLong_CheckExact(item) != 0) {
    int overflow = 0;
    const int64_t number = PyLong_AsLongLongAndOverflow(item, &overflow);
    return overflow == 0 && append(kNumber) && append(number);
  }
  if (item == Py_None) return append(kNone);
  if (item == Py_Ellipsis) return append(kEllipsis);
  if (PySlice_Check(item)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(item);
    return append(kSlice) && append(slice->start) && append(slice->stop) && append(slice->step);
  }
  if (is_expression(item)) return append(expression_of(item));
  if (Py_TYPE(item) == slice_type) {
    const auto* window = static_cast<DynamicSliceObject*>(item);
    return append(kWindow) && append(static_cast<int64_t>(window->size)) &&
           append(window->start.ptr());
  }
  if (PyTuple_CheckExact(item) == 0 || !append(kTuple) || !append(PyTuple_GET_SIZE(item))) {
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
  bool is_key = !all.empty() && append(kPairs) && append(static_cast<int64_t>(all.size()));
  for (size_t i = 0; is_key && i < all.size(); ++i) {
    const Objects pair = items_of(all[i]);
    is_key = pair.size() == 2 && PyLong_CheckExact(pair[0]) != 0 &&
             PyLong_CheckExact(pair[1]) != 0 && append(pair[0]) && append(pair[1]);
  }
  return is_key;
}

PyObject* Part::find() {
  if (!is_tensor(tensor_)) return nullptr;
  auto hash = reinterpret_cast<uintptr_t>(tensor_);
  for (size_t i = 0; i < count_; ++i) {
    hash += static_cast<uint64_t>(numbers_[i]) * (kHashFactor * (2 * i + 1));
  }
  trace_ = as_trace(storage_of(tensor_)->trace);
  first_ = index_of(hash, kPartSets) * kPartPlaces;
  for (size_t i = first_; i < first_ + kPartPlaces; ++i) {
    const bool is_same =
        trace_->parts[i][0] == tensor_ && std::ranges::equal(trace_->keys[i], key());
    if (is_same) return trace_->parts[i][2];
  }
  return nullptr;
}

void Part::keep(PyObject* made, PyObject* index) const {
  if (trace_ == nullptr || !is_tensor(made)) return;
  // The newest of a set comes first; the oldest is dropped.
  const auto make_room = [this](auto& all) {
    const auto first = all.begin() + first_, last = first + kPartPlaces;
    std::rotate(first, last - 1, last);
    return first;
  };
  make_room(trace_->keys)->assign(key().begin(), key().end());
  auto part = make_room(trace_->parts);
  const auto dropped = std::move(*part);  // which goes when all is in place
  set_field((*part)[0], tensor_);
  set_field((*part)[1], index);
  set_field((*part)[2], made);
}

}  // namespace neuron_sim::tracing
