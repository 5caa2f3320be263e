// The fields of tensors as views of device/tracing, and tensors of other views of a storage.

#include <nanobind/nanobind.h>

#include "device/base/errors.h"
#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

void unroll(const LoopsNeeded& needed) noexcept {
  try {
    nb::list keys;
    for (const Loop* loop : needed.loops) keys.append(object_of(loop)->key);
    const nb::object error = nb::handle(connections.unroll)(keys);
    PyErr_SetObject(connections.unroll, error.ptr());
  } catch (...) {
    raised();
  }
}

void refuse(PyObject* tensor, const char* reason) {
  const nb::object error = nb::handle(tensor).attr("_refusal")(reason);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

void refuse_dynamic(PyObject* tensor) {
  if (!is_absent(as_tensor(tensor)->dynamic)) refuse(tensor, "dynamic_index");
}

const TensorView& view_of(PyObject* tensor) {
  settle_tensor(tensor);
  return *as_tensor(tensor);
}

nb::object new_tensor(PyObject* storage, PyObject* dtype, const TensorView& view) {
  nb::object made = made_object<TensorObject>(classes.tensor, view);
  set_field(as_tensor(made.ptr())->storage, storage);
  set_field(as_tensor(made.ptr())->dtype, dtype);
  return made;
}

namespace {

/// Gives a view of a tensor a tile of indices in its first dimension.
void set_index(const TensorObject* of, PyObject* index, TensorObject* view) {
  set_field(view->index, index);
  view->index_rows = of->index_rows;
  view->index_stride = of->index_stride;
}

/// Another view of the storage of a tensor, without the tile of indices that the tensor may have.
nb::object with_pattern(PyObject* tensor, const TensorView& view) {
  if (!is_tensor(tensor)) return nb::handle(tensor).attr("same_storage")();  // which refuses it
  const TensorObject* old = as_tensor(tensor);
  nb::object made = new_tensor(old->storage, old->dtype, view);
  as_tensor(made.ptr())->at_register = old->at_register;
  return made;
}

}  // namespace

nb::object tensor_of(PyObject* tensor, const TensorView& view) {
  nb::object made = with_pattern(tensor, view);
  const TensorObject* old = as_tensor(tensor);
  if (is_absent(old->index)) return made;
  if (view.shape.empty() || view.shape[0] != old->shape[0]) {
    with_name_of(tensor, [] {
      fail(text("view of `", kTensorName, "`: a tile holds the indices of its dimension 0, which ",
                "stays as it is."));
    });
  }
  set_index(old, old->index, as_tensor(made.ptr()));
  return made;
}

nb::object tensor_same_storage(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  if (count != 2 && count != 5) {
    fail("a pattern is shape, steps, axis, partition, start.", ErrorKind::kType);
  }
  TensorView view;
  if (count == 2) {
    view = view_of(self);
    view.checks.clear();
  } else {
    view.axis = axis_of(fields[2]);
    view.partition = position_of(fields[3]);
    view.start = position_of(fields[4]);
  }
  view.shape = sizes_of(fields[0]);
  view.steps = sizes_of(fields[1]);
  if (view.steps.size() != view.shape.size()) fail("the steps of a tensor do not fit its shape.");
  return tensor_of(self, view);
}

nb::object tensor_derived(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  refuse_dynamic(self);
  run_checks(self);
  return tensor_same_storage(self, fields, count);
}

nb::object as_column(PyObject* self, PyObject*) {
  TensorView view = view_of(self);
  while (view.shape.size() < 2) view.append(1, 1);
  return tensor_of(self, view);
}

void run_checks(PyObject* tensor) {
  with_name_of(tensor, [&] { as_tensor(tensor)->check_bounds(); });
}

void checked(PyObject* self, PyObject*) { run_checks(self); }

nb::object is_same_view(PyObject* self, PyObject* other) {
  if (PyObject_TypeCheck(other, tensor_type) == 0) wrong_type("other", "a tensor", other);
  const TensorView &a = *as_tensor(self), &b = *as_tensor(other);
  const auto is_same = [](Position one, const Position& another) {
    one.add(another, -1);
    return one == Position();
  };
  return nb::bool_(a.shape == b.shape && a.steps == b.steps && is_same(a.start, b.start) &&
                   is_same(a.partition, b.partition));
}

// --- narrow() and pattern() -------------------------------------------------------------------

namespace {

/// (start, size) per dimension.
Box box_of(PyObject* ranges) {
  Box box;
  const Py_ssize_t count =
      std::min(PyTuple_GET_SIZE(ranges), static_cast<Py_ssize_t>(kMaximumDimensions));
  for (Py_ssize_t d = 0; d < count; ++d) {
    long long first = 0, size = 0;
    PyObject* range = PyTuple_GET_ITEM(ranges, d);
    if (PyTuple_Check(range) == 0) wrong_type("box", "pairs (start, size)", range);
    must(PyArg_ParseTuple(range, "LL", &first, &size) != 0);
    box.first.push_back(first);
    box.last.push_back(first + size);
  }
  return box;
}

nb::object made_narrow(PyObject* self, PyObject* box) {
  nb::object made = with_pattern(self, view_of(self).narrowed(box_of(box)));
  const TensorObject* tensor = as_tensor(self);
  if (is_absent(tensor->index)) return made;
  const nb::object index = tensor->index.attr("narrow")(nb::steal(PyTuple_GetSlice(box, 0, 1)));
  set_index(tensor, index.ptr(), as_tensor(made.ptr()));
  return made;
}

/// Whether it is a tensor in HBM, of which loops over masked parts take the same ones again.
bool is_fixed_in_hbm(PyObject* self) {
  if (!is_tensor(self)) return false;
  const TensorObject* tensor = as_tensor(self);
  return tensor->axis < 0 && !is_absent(tensor->storage) && is_absent(tensor->index) &&
         is_absent(tensor->at_register) && is_absent(tensor->dynamic);
}

/// What was made of a tensor by pairs and an index before, or make().
template <class Make>
nb::object known_or_made(PyObject* self, PyObject* pairs, PyObject* index, Make make) {
  Part known(self);
  if (!known.append_pairs(pairs) || !known.append(index)) return make();
  if (PyObject* part = known.find()) return nb::borrow(part);
  nb::object part = make();
  known.keep(part.ptr(), index);
  return part;
}

/// The dimensions of [[step, size], ...].
TensorView pairs_of(PyObject* pairs) {
  const auto sequence = [](PyObject* object) {
    nb::object made = nb::steal(PySequence_Fast(object, "a pattern is [[step, size], ...]."));
    must(made.is_valid());
    return made;
  };
  const nb::object all = sequence(pairs);
  TensorView view;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all.ptr()); ++i) {
    const nb::object pair = sequence(PySequence_Fast_GET_ITEM(all.ptr(), i));
    if (PySequence_Fast_GET_SIZE(pair.ptr()) != 2) {
      fail("an entry of a pattern is [step, size].");
    }
    const int64_t step = integer_of(PySequence_Fast_GET_ITEM(pair.ptr(), 0));
    view.append(integer_of(PySequence_Fast_GET_ITEM(pair.ptr(), 1)), step);
  }
  if (view.shape.empty()) {
    fail("a pattern has at least one entry, [step, size].", ErrorKind::kIndex);
  }
  return view;
}

/// Elements of a partition of the storage in the dtype of the tensor.
int64_t row_elements(const TensorObject* tensor) {
  const auto* storage = static_cast<StorageObject*>(tensor->storage.ptr());
  PyObject* old = storage->dtype;
  PyObject* dtype = tensor->dtype;
  const int64_t row = nb::cast<const View&>(nb::handle(storage->whole)).storage_elements();
  if (dtype == old) return row;
  return row * itemsize_of(old) / itemsize_of(dtype);
}

nb::object made_pattern(PyObject* self, PyObject* const* arguments) {
  refuse_dynamic(self);
  const TensorObject* tensor = as_tensor(self);
  if (!is_absent(tensor->index) || !is_absent(tensor->at_register)) {
    refuse(self, "indirect_pattern");
  }
  TensorView pattern = pairs_of(arguments[0]);
  if (tensor->axis < 0) {
    pattern.start = position_of(arguments[1]);
  } else if (is_tensor(self)) {  // any other is refused: its tiles lie apart
    IndexExpression number;
    if (!is_expression(arguments[1])) number.position = position_of(arguments[1]);
    const IndexExpression& offset =
        is_expression(arguments[1]) ? expression_of(arguments[1]) : number;
    with_name_of(self, [&] {
      pattern = placed_pattern(view_of(self), pattern, offset, row_elements(tensor));
    });
  }
  run_checks(self);
  return with_pattern(self, pattern);
}

}  // namespace

nb::object narrow(PyObject* self, PyObject* box) {
  if (PyTuple_Check(box) == 0) wrong_type("box", "a tuple", box);
  const auto make = [&] { return made_narrow(self, box); };
  return is_fixed_in_hbm(self) ? known_or_made(self, box, Py_Ellipsis, make) : make();
}

nb::object row_of(TensorObject& tensor) {
  settle_tensor(&tensor);
  return nb::int_(row_elements(&tensor));
}

nb::object pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) fail("pattern() takes dimensions and an offset.", ErrorKind::kType);
  settle_tensor(self);
  const auto make = [&] { return made_pattern(self, arguments); };
  return known_or_made(self, arguments[0], arguments[1], make);
}

}  // namespace neuron_sim::tracing
