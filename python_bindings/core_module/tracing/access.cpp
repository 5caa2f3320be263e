// The View of a tensor's access pattern, after its bounds were checked.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "device/base/bounds.h"
#include "device/isa/tensor/microscaling.h"
#include "device/operand/view.h"
#include "device/tracing/access_pattern.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The View of the storage as elements of the tensor's dtype.
nb::object whole_of(const TensorObject* tensor) {
  PyObject* storage = tensor->storage;
  PyObject* dtype = tensor->dtype;
  const auto* fields = static_cast<StorageObject*>(storage);
  if (dtype == fields->dtype) {
    return nb::borrow(fields->whole);
  }
  return nb::handle(storage).attr("whole_as")(nb::handle(dtype));
}

/// The View with its run-time part: a register or an index tile.
nb::object with_dynamic_parts(TensorObject* tensor, nb::object view) {
  if (!is_absent(tensor->at_register)) {
    view = nb::handle(tensor).attr("_at_register")(view);
  }
  if (tensor->axis >= 0 || is_absent(tensor->index)) return view;
  const int64_t rows = tensor->index_rows;
  const auto& plain = nb::cast<const View&>(view);
  return nb::cast(tensor->shape[0] <= rows ? plain.indirect(rows)
                                           : plain.indirect(rows, tensor->shape[0]));
}

/// The View of a tensor that has a storage.
nb::object made_access(TensorObject* tensor) {
  static std::vector<Dimension> kept;  // reuses its memory, guarded by the GIL
  std::vector<Dimension> dimensions = std::exchange(kept, {});
  dimensions.clear();
  refuse_dynamic(tensor);
  run_checks(tensor);
  if (has_blocks(*tensor)) refuse(tensor, "blocks_before_partitions");
  const bool is_indirect = tensor->axis < 0 && !is_absent(tensor->index);
  append_access(*tensor, {is_indirect ? tensor->index_rows : -1, tensor->index_stride}, dimensions);
  const nb::object whole = whole_of(tensor);
  nb::object view;
  try {
    view = nb::cast(nb::cast<const View&>(whole).pattern(dimensions, tensor->start.affine(),
                                                         tensor->partition.affine()));
  } catch (const KernelError& error) {
    if (error.kind() != ErrorKind::kValue || !is_splittable(dimensions)) throw;
    PyErr_SetString(not_one_pattern, error.what());
    throw nb::python_error();
  }
  kept = std::move(dimensions);
  return with_dynamic_parts(tensor, view);
}

/// In loops, the last use of a tensor matters.
void note_use(StorageObject* storage) {
  auto* trace = static_cast<TraceObject*>(storage->trace.ptr());
  const int is_open = PySet_Contains(trace->scopes, storage->scope);
  must(is_open >= 0);
  if (is_open == 0) {
    nb::handle(trace).attr("check_scope")(nb::handle(storage));
  }
  if (PyList_GET_SIZE(trace->loops) > 0) {
    storage->uses += 1;
    storage->last_use = ++trace->uses;
  }
}

}  // namespace

nb::object access_of(TensorObject* tensor) {
  settle_tensor(tensor);
  nb::object view = tensor->access;
  if (!view.is_valid()) {
    view = made_access(tensor);
    if (is_absent(tensor->at_register)) tensor->access = view;
  }
  note_use(storage_of(tensor));
  return view;
}

void bind_merged(nb::module_& module) {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  module.attr("MAXIMUM_RANK") = kMaximumRank;
  module.attr("QUADRANT_PARTITIONS") = kQuadrantPartitions;
  module.def(
      "out_of_bound",
      [](const std::string& name, int64_t dimension, int64_t low, int64_t high, int64_t size) {
        out_of_bound(name, dimension, {low, high}, size);
      },
      nb::arg("name"), nb::arg("dimension"), nb::arg("low"), nb::arg("high"), nb::arg("size"),
      "Raises the IndexError of an index low .. high in a dimension of a tensor.");
  module.def(
      "merged",
      [](const Pairs& pairs) {
        std::vector<Dimension> dimensions;
        for (const auto& [step, size] : pairs) dimensions.push_back({size, step});
        merge(dimensions, 0);
        Pairs result;
        for (const Dimension& each : dimensions) result.emplace_back(each.stride, each.size);
        return result;
      },
      nb::arg("dimensions"),
      "The same elements in the same order with as few (step, size) as possible.");
}

}  // namespace neuron_sim::tracing
