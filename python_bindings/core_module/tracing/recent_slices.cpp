// Parts of tensors that a kernel names again: unrolled loops slice the same tiles at the same
// numbers, and the part with its View is the one that was made before.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "python_bindings/core_module/tracing/hash.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace neuron_sim::tracing {
namespace {

/// Parts that a trace remembers: the latest kPlaces of each set, to which their hashes lead.
constexpr size_t kSets = 32, kPlaces = 4;
/// What a place holds, one after the other: the tensor, the index, the part.
constexpr Py_ssize_t kEntry = 3;
constexpr auto kMostPairs = static_cast<Py_ssize_t>(kMaximumDimensions);

bool mix_item(uint64_t& hash, PyObject* item);

bool mix_expression(uint64_t& hash, const IndexExpression& expression) {
  mix(hash, static_cast<uint64_t>(expression.position.constant));
  for (const Term& term : expression.position.terms) {
    mix(hash, term.loop);
    mix(hash, static_cast<uint64_t>(term.coefficient));
  }
  return true;
}

bool mix_slice(uint64_t& hash, const PySliceObject* slice) {
  return mix_item(hash, slice->start) && mix_item(hash, slice->stop) && mix_item(hash, slice->step);
}

/// The first item of an index of pairs, which no kernel can name.
PyObject* mark() {
  static PyObject* made = PyCapsule_New(&connections, nullptr, nullptr);
  return made;
}

bool has_pairs(PyObject* index) {
  return PyTuple_CheckExact(index) != 0 && PyTuple_GET_SIZE(index) == 3 &&
         PyTuple_GET_ITEM(index, 0) == mark();
}

/// Adds the numbers of an index of pairs.
void mix_bytes(uint64_t& hash, PyObject* numbers) {
  const char* bytes = PyBytes_AS_STRING(numbers);
  for (Py_ssize_t i = 0; i + 8 <= PyBytes_GET_SIZE(numbers); i += 8) {
    uint64_t number = 0;
    std::memcpy(&number, bytes + i, sizeof number);
    mix(hash, number);
  }
}

/// Adds an index to a hash; false for one that may mean something else another time.
bool mix_item(uint64_t& hash, PyObject* item) {
  if (PyLong_CheckExact(item) != 0) {
    int overflow = 0;
    mix(hash, static_cast<uint64_t>(PyLong_AsLongLongAndOverflow(item, &overflow)));
    return overflow == 0;
  }
  if (item == Py_None || item == Py_Ellipsis) return mix(hash, item), true;
  if (PySlice_Check(item)) return mix_slice(hash, reinterpret_cast<PySliceObject*>(item));
  if (is_expression(item)) return mix_expression(hash, expression_of(item));
  if (Py_TYPE(item) != classes.dynamic_slice) return false;
  const auto* slice = reinterpret_cast<DynamicSliceObject*>(item);
  mix(hash, static_cast<uint64_t>(slice->size));
  return mix_item(hash, slice->field[DynamicSliceObject::kStart]);
}

/// Whether two indices of which mix_item() is true are the same.
bool is_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyLong_CheckExact(a) != 0) return PyLong_AsLongLong(a) == PyLong_AsLongLong(b);
  if (PySlice_Check(a)) {
    const auto* one = reinterpret_cast<PySliceObject*>(a);
    const auto* other = reinterpret_cast<PySliceObject*>(b);
    return is_same(one->start, other->start) && is_same(one->stop, other->stop) &&
           is_same(one->step, other->step);
  }
  if (PyBytes_CheckExact(a) != 0) {
    return PyBytes_GET_SIZE(a) == PyBytes_GET_SIZE(b) &&
           std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b),
                       static_cast<size_t>(PyBytes_GET_SIZE(a))) == 0;
  }
  if (is_expression(a)) return expression_of(a) == expression_of(b);
  if (Py_TYPE(a) != classes.dynamic_slice) return false;
  const auto* one = reinterpret_cast<DynamicSliceObject*>(a);
  const auto* other = reinterpret_cast<DynamicSliceObject*>(b);
  return one->size == other->size &&
         is_same(one->field[DynamicSliceObject::kStart], other->field[DynamicSliceObject::kStart]);
}

bool is_same_index(PyObject* a, PyObject* b) {
  if (PyTuple_CheckExact(a) == 0 || PyTuple_CheckExact(b) == 0) return is_same(a, b);
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    if (!is_same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  }
  return true;
}

/// The places of a trace, made on first use; null with an error.
PyObject* places_of(TraceObject* trace) {
  Owned& places = trace->field[TraceObject::kParts];
  if (is_absent(places)) {
    constexpr auto kSize = static_cast<Py_ssize_t>(kSets * kPlaces) * kEntry;
    places = nanobind::steal(PyList_New(kSize));
    for (Py_ssize_t i = 0; places.is_valid() && i < kSize; ++i) {
      PyList_SET_ITEM(places.ptr(), i, Py_NewRef(Py_None));
    }
  }
  return places;
}

}  // namespace

bool Part::find(PyObject* of, PyObject* by) {
  tensor = of;
  index = by;
  uint64_t hash = kHashFactor;
  mix(hash, of);
  bool is_fixed = is_tensor(of);
  if (has_pairs(by)) {
    mix_bytes(hash, PyTuple_GET_ITEM(by, 1));
    is_fixed = is_fixed && mix_item(hash, PyTuple_GET_ITEM(by, 2));
  } else if (PyTuple_CheckExact(by) == 0) {
    is_fixed = is_fixed && mix_item(hash, by);
  } else {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(by) && is_fixed; ++i) {
      is_fixed = mix_item(hash, PyTuple_GET_ITEM(by, i));
    }
  }
  if (!is_fixed) return false;
  places = places_of(as_trace(storage_of(of)->field[StorageObject::kTrace]));
  if (places == nullptr) {
    PyErr_Clear();
    return false;
  }
  first = static_cast<Py_ssize_t>(index_of(hash, kSets) * kPlaces) * kEntry;
  for (Py_ssize_t at = first; at < first + static_cast<Py_ssize_t>(kPlaces) * kEntry;
       at += kEntry) {
    if (PyList_GET_ITEM(places, at) == of && is_same_index(PyList_GET_ITEM(places, at + 1), by)) {
      part = PyList_GET_ITEM(places, at + 2);
      return true;
    }
  }
  return false;
}

void Part::keep(PyObject* made) const {
  if (places == nullptr || !is_tensor(made)) return;
  // The newest of a set comes first; the oldest is dropped.
  PyObject** entries = &PyList_GET_ITEM(places, first);
  PyObject** end = entries + static_cast<Py_ssize_t>(kPlaces) * kEntry;
  std::array<nanobind::object, kEntry> dropped;  // which goes when the list is whole again
  for (size_t i = 0; i < kEntry; ++i) dropped[i] = nanobind::steal(*(end - kEntry + i));
  std::move_backward(entries, end - kEntry, end);
  PyObject* kept[] = {Py_NewRef(tensor), Py_NewRef(index), Py_NewRef(made)};
  std::copy(kept, kept + kEntry, entries);
}

namespace {

/// The numbers of [(one, other), ...]; null without an error when they are not plain ints in lists
/// or tuples.
PyObject* bytes_of(PyObject* pairs) {
  const auto is_sequence = [](PyObject* each) {
    return PyList_CheckExact(each) != 0 || PyTuple_CheckExact(each) != 0;
  };
  if (!is_sequence(pairs) || PySequence_Fast_GET_SIZE(pairs) > kMostPairs) return nullptr;
  int64_t numbers[2 * kMostPairs];
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(pairs);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* pair = PySequence_Fast_GET_ITEM(pairs, i);
    if (!is_sequence(pair) || PySequence_Fast_GET_SIZE(pair) != 2) return nullptr;
    for (Py_ssize_t j = 0; j < 2; ++j) {
      PyObject* number = PySequence_Fast_GET_ITEM(pair, j);
      int overflow = 0;
      if (PyLong_CheckExact(number) == 0) return nullptr;
      numbers[2 * i + j] = PyLong_AsLongLongAndOverflow(number, &overflow);
      if (overflow != 0) return nullptr;
    }
  }
  const Py_ssize_t size = 2 * count * static_cast<Py_ssize_t>(sizeof(int64_t));
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(numbers), size);
}

}  // namespace

PyObject* index_of_pairs(PyObject* pairs, PyObject* other) {
  const nanobind::object numbers = nanobind::steal(bytes_of(pairs));
  return numbers.is_valid() ? PyTuple_Pack(3, mark(), numbers.ptr(), other) : nullptr;
}

}  // namespace neuron_sim::tracing
