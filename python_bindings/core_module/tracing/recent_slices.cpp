// Parts of tensors that a kernel names again: unrolled loops slice the same tiles at the same
// numbers, and the part with its View is the one that was made before.

#include "python_bindings/core_module/tracing/recent_slices.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "python_bindings/core_module/tracing/hash.h"
#include "python_bindings/core_module/tracing/integers.h"

namespace neuron_sim::tracing {
namespace {

/// Parts that a trace remembers: the latest kPlaces of each set, to which their hashes lead.
constexpr size_t kSets = 32, kPlaces = 4;
/// What a place holds, one after the other: the tensor, the bytes of the key, the index, the part.
constexpr size_t kEntry = 4;

/// What the numbers that follow are.
enum : int64_t { kNumber, kNone, kEllipsis, kSlice, kExpression, kWindow, kTuple, kPairs };

/// The places of a trace, made on first use.
PyObject* places_of(TraceObject* trace) {
  Owned& places = trace->field[TraceObject::kParts];
  if (is_absent(places)) {
    const std::vector<PyObject*> nothing(kSets * kPlaces * kEntry, Py_None);
    places = nanobind::steal(PySequence_List(packed(nothing).ptr()));
    must(places.is_valid());
  }
  return places;
}

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
  if (Py_TYPE(item) == classes.dynamic_slice) {
    const auto* window = reinterpret_cast<DynamicSliceObject*>(item);
    return append(kWindow) && append(static_cast<int64_t>(window->size)) &&
           append(window->field[DynamicSliceObject::kStart].ptr());
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

bool Part::is_key(PyObject* bytes) const {
  const size_t size = count_ * sizeof(int64_t);
  return PyBytes_CheckExact(bytes) != 0 && static_cast<size_t>(PyBytes_GET_SIZE(bytes)) == size &&
         std::memcmp(PyBytes_AS_STRING(bytes), numbers_.data(), size) == 0;
}

PyObject* Part::find() {
  if (!is_tensor(tensor_)) return nullptr;
  auto hash = reinterpret_cast<uintptr_t>(tensor_);
  for (size_t i = 0; i < count_; ++i) {
    hash += static_cast<uint64_t>(numbers_[i]) * (kHashFactor * (2 * i + 1));
  }
  PyObject* places = places_of(as_trace(storage_of(tensor_)->field[StorageObject::kTrace]));
  entries_ = &PyList_GET_ITEM(places, 0) + index_of(hash, kSets) * kPlaces * kEntry;
  for (PyObject** at = entries_; at < entries_ + kPlaces * kEntry; at += kEntry) {
    if (at[0] == tensor_ && is_key(at[1])) return at[3];
  }
  return nullptr;
}

void Part::keep(PyObject* made, PyObject* index) const {
  if (entries_ == nullptr || !is_tensor(made)) return;
  const auto size = static_cast<Py_ssize_t>(count_ * sizeof(int64_t));
  nanobind::object key = nanobind::steal(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(numbers_.data()), size));
  must(key.is_valid());
  // The newest of a set comes first; the oldest is dropped.
  PyObject** end = entries_ + kPlaces * kEntry;
  std::array<nanobind::object, kEntry> dropped;  // which goes when the list is whole again
  for (size_t i = 0; i < kEntry; ++i) dropped[i] = nanobind::steal(end[i - kEntry]);
  std::move_backward(entries_, end - kEntry, end);
  PyObject* kept[] = {Py_NewRef(tensor_), key.release().ptr(), Py_NewRef(index), Py_NewRef(made)};
  std::copy(kept, kept + kEntry, entries_);
}

}  // namespace neuron_sim::tracing
