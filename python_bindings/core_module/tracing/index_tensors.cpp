// tensor[index] of index expressions: nl.arange, nl.mgrid and values computed from them.

#include <algorithm>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

void Indexing::add_check(int dimension, const Position& start, const nanobind::dict& steps) {
  if (!checks.is_valid()) checks = nanobind::list();
  nanobind::cast<nanobind::list>(checks).append(nanobind::make_tuple(
      dimension, nanobind::steal(position_object(start)), steps, old.shape[dimension]));
}

bool Indexing::begin(PyObject* of) {
  tensor = of;
  if (!read_pattern(as_tensor(tensor), old)) return false;
  made.start = old.start;
  made.partition = old.partition;
  return true;
}

void Indexing::note(const Position& start, const nanobind::dict& steps) {
  if (!is_absent(as_tensor(tensor)->field[TensorObject::kChecks])) {
    dimensions.push_back({.start = start, .steps = steps});
  }
}

void Indexing::note(const Position& start, int along, int64_t step) {
  if (is_absent(as_tensor(tensor)->field[TensorObject::kChecks])) return;
  nanobind::dict steps;
  if (along >= 0) steps[nanobind::int_(along)] = step;
  dimensions.push_back({.start = start, .steps = steps});
}

PyObject* Indexing::result() {
  const bool has_checks = !is_absent(as_tensor(tensor)->field[TensorObject::kChecks]);
  if (has_checks && !inherit_checks(*this)) return nullptr;
  PyObject* result = same_storage(tensor, made, &old);
  if (result != nullptr && checks.is_valid()) {
    set_field(as_tensor(result)->field[TensorObject::kChecks], nanobind::tuple(checks).ptr());
  }
  return result;
}

namespace {

/// The shape of all indices together, with steps of 0.
bool read_box(const Indexing& indexing, PyObject* const* items, int count, Pattern& box) {
  for (int d = 0; d < count; ++d) {
    if (!is_expression(items[d])) continue;
    const ExpressionObject* each = as_expression(items[d]);
    if (!broadcast(box.shape, box.rank, each->shape, each->rank)) return false;
  }
  std::fill_n(box.steps, box.rank, 0);
  return box.rank > 1 || refuse("one_dimensional_indices", indexing.tensor);
}

/// The step of the partition index: only along the first dimension of the tile, one by one.
bool index_partitions(Indexing& indexing, int d, const ExpressionObject* item) {
  Pattern& made = indexing.made;
  const int missing = made.rank - item->rank;
  made.steps[0] = 0;
  for (int j = 0; j < item->rank; ++j) {
    const int along = missing + j;
    const int64_t step = step_in(item, j, made.shape[along]);
    if (step == 0) continue;
    if (along != 0 && made.shape[along] != 1) {
      return refuse("partition_dimension", indexing.tensor, along);
    }
    if (along == 0 && step != 1 && made.shape[0] > 1) {
      return refuse("partition_stride", indexing.tensor, step);
    }
    made.steps[0] = indexing.old.steps[d];
  }
  return true;
}

/// strides[j] = sum over tensor dimensions d of stride_d * coefficient of index d in j.
bool apply_expression(Indexing& indexing, int d, const ExpressionObject* item,
                      const Position& start) {
  Pattern& made = indexing.made;
  const int missing = made.rank - item->rank;
  int64_t low = 0, high = 0;
  bounds_of(start, low, high);
  for (int j = 0; j < item->rank; ++j) {
    const int64_t step = step_in(item, j, made.shape[missing + j]);
    add_saturated(step < 0 ? low : high, step, made.shape[missing + j] - 1);
    if (d != indexing.old.axis &&
        !add_product(made.steps[missing + j], step, indexing.old.steps[d])) {
      return false;
    }
  }
  const bool is_outside = low < 0 || high >= indexing.old.shape[d];
  if (is_outside || !is_absent(as_tensor(indexing.tensor)->field[TensorObject::kChecks])) {
    nanobind::dict steps;
    for (int j = 0; j < item->rank; ++j) {
      const int64_t step = step_in(item, j, made.shape[missing + j]);
      if (step != 0) steps[nanobind::int_(missing + j)] = step;
    }
    if (is_outside) indexing.add_check(d, start, steps);
    indexing.note(start, steps);
  }
  return d != indexing.old.axis || index_partitions(indexing, d, item);
}

}  // namespace

bool apply_index_tensors(Indexing& indexing, PyObject* const* items, int count) {
  const Pattern& old = indexing.old;
  Pattern& made = indexing.made;
  if (count > old.rank) return refuse("too_many_indices", indexing.tensor, old.rank, count);
  if (!read_box(indexing, items, count, made)) return false;
  static PyObject* scalar = &new_expression()->ob_base;  // an index without dimensions
  for (int d = 0; d < count; ++d) {
    Position start;
    if (!read_position(items[d], start)) return false;
    const bool is_number = !is_expression(items[d]);
    if (is_number && start.constant < 0) start.constant += old.shape[d];
    const ExpressionObject* item = as_expression(is_number ? scalar : items[d]);
    if (!apply_expression(indexing, d, item, start) || !made.move(old, d, start)) return false;
  }
  if (old.axis >= 0) made.axis = old.axis < count ? 0 : made.rank + old.axis - count;
  if (made.axis == 0 && made.steps[0] == 0 && made.shape[0] == 1) made.steps[0] = 1;
  for (int d = count; d < old.rank; ++d) {
    indexing.note({}, made.rank, 1);
    if (!made.append(old.shape[d], old.steps[d])) return false;
  }
  return true;
}

PyObject* gathered(PyObject* self, PyObject* items) {
  if (PyTuple_Check(items) == 0) return wrong_type("items", "a tuple", items);
  Indexing indexing;
  if (!indexing.begin(self)) return nullptr;
  const bool good = apply_index_tensors(indexing, &PyTuple_GET_ITEM(items, 0),
                                        static_cast<int>(PyTuple_GET_SIZE(items)));
  return good ? indexing.result() : nullptr;
}

}  // namespace neuron_sim::tracing
