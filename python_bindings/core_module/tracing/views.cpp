// The fields of tensors as views of device/tracing, and tensors of other views of a storage.

#include <nanobind/nanobind.h>

#include "device/base/errors.h"
#include "device/operand/view.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"
#include "python_bindings/core_module/tracing/recent_slices.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

using Field = TensorObject;

void must(bool good) {
  if (!good) throw nb::python_error();
}

void unroll(const LoopsNeeded& needed) noexcept {
  try {
    nb::dict keys;  // in order, each once
    for (const Loop* loop : needed.loops) {
      const auto* object = reinterpret_cast<LoopObject*>(object_of(loop));
      keys[nb::handle(object->field[LoopObject::kKey])] = nb::none();
    }
    const nb::object error = nb::handle(connections.unroll)(keys.keys());
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

TensorView view_of(PyObject* object) {
  must(settle_tensor(object));
  const TensorObject* tensor = as_tensor(object);
  TensorView view;
  int64_t axis = -1;
  must(is_absent(tensor->field[Field::kAxis]) || read_integer(tensor->field[Field::kAxis], axis));
  view.axis = static_cast<int>(axis);
  view.shape = sizes_of(tensor->field[Field::kShape]);
  view.steps = sizes_of(tensor->field[Field::kSteps]);
  view.start = position_of(tensor->field[Field::kStart]);
  view.partition = position_of(tensor->field[Field::kPartition]);
  if (view.steps.size() != view.shape.size()) fail("the steps of a tensor do not fit its shape.");
  PyObject* checks = tensor->field[Field::kChecks];
  if (is_absent(checks)) return view;
  if (Py_TYPE(checks) != checks_type) must(wrong_type("checks", "IndexChecks", checks) != nullptr);
  view.checks = held<std::vector<IndexCheck>>(checks);
  return view;
}

TensorObject* new_tensor(PyObject* storage, PyObject* shape, PyObject* dtype, PyObject* steps,
                         PyObject* axis, PyObject* partition, PyObject* start) {
  PyObject* made = classes.tensor->tp_alloc(classes.tensor, 0);
  if (made == nullptr) return nullptr;
  TensorObject* tensor = as_tensor(made);
  set_field(tensor->field[Field::kStorage], storage);
  set_field(tensor->field[Field::kShape], shape);
  set_field(tensor->field[Field::kDtype], dtype);
  set_field(tensor->field[Field::kSteps], steps);
  set_field(tensor->field[Field::kAxis], axis);
  set_field(tensor->field[Field::kPartition], partition);
  set_field(tensor->field[Field::kStart], start);
  return tensor;
}

namespace {

/// fields: shape, steps, axis, partition, start.
PyObject* on_storage_of(PyObject* tensor, PyObject* const* fields) {
  const TensorObject* old = as_tensor(tensor);
  TensorObject* made = new_tensor(old->field[Field::kStorage], fields[0], old->field[Field::kDtype],
                                  fields[1], fields[2], fields[3], fields[4]);
  if (made == nullptr) return nullptr;
  if (!is_absent(old->field[Field::kRegister])) {
    set_field(made->field[Field::kRegister], old->field[Field::kRegister]);
  }
  return &made->ob_base;
}

/// The tensor on the storage of one whose class may override it.
PyObject* on_storage_of_any(PyObject* tensor, PyObject* const* fields) {
  if (is_tensor(tensor)) return on_storage_of(tensor, fields);
  return PyObject_CallMethod(tensor, "same_storage", "OOOOO", fields[0], fields[1], fields[2],
                             fields[3], fields[4]);
}

bool are_fields(Py_ssize_t count) {
  if (count == 5) return true;
  PyErr_SetString(PyExc_TypeError, "a pattern is shape, steps, axis, partition, start.");
  return false;
}

}  // namespace

nb::object tensor_of(PyObject* tensor, const TensorView& view, const TensorView* old) {
  // The tensor's own tuple where its numbers are the same.
  const auto tuple = [&](int field, const Sizes& sizes, const Sizes TensorView::*member) {
    const bool is_same = old != nullptr && old->*member == sizes;
    return is_same ? nb::borrow(as_tensor(tensor)->field[field]) : nb::steal(tuple_of(sizes));
  };
  const nb::object shape = tuple(Field::kShape, view.shape, &TensorView::shape);
  const nb::object steps = tuple(Field::kSteps, view.steps, &TensorView::steps);
  const nb::object axis = view.axis < 0 ? nb::none() : nb::object(nb::int_(view.axis));
  const nb::object partition = object_of(view.partition), start = object_of(view.start);
  PyObject* fields[] = {shape.ptr(), steps.ptr(), axis.ptr(), partition.ptr(), start.ptr()};
  nb::object made = nb::steal(on_storage_of_any(tensor, fields));
  must(made.is_valid());
  if (!view.checks.empty()) {
    set_field(as_tensor(made.ptr())->field[Field::kChecks],
              made_held(checks_type, view.checks).ptr());
  }
  return made;
}

PyObject* tensor_same_storage(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  return are_fields(count) ? on_storage_of(self, fields) : nullptr;
}

PyObject* tensor_derived(PyObject* self, PyObject* const* fields, Py_ssize_t count) {
  if (!are_fields(count)) return nullptr;
  run_checks(self);
  return on_storage_of_any(self, fields);
}

void run_checks(PyObject* tensor) {
  if (is_absent(as_tensor(tensor)->field[Field::kChecks])) return;
  with_name_of(tensor, [&] { view_of(tensor).check_bounds(); });
}

PyObject* checked(PyObject* self, PyObject*) {
  run_checks(self);
  Py_RETURN_NONE;
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
    must(PyTuple_Check(range) != 0 || wrong_type("box", "pairs (start, size)", range) != nullptr);
    must(PyArg_ParseTuple(range, "LL", &first, &size) != 0);
    box.first.push_back(first);
    box.last.push_back(first + size);
  }
  return box;
}

/// The index tile of a tensor in the first dimension of a box.
void narrow_index(const TensorObject* tensor, PyObject* box, TensorObject* narrowed) {
  const nb::object index = nb::handle(tensor->field[Field::kIndex])
                               .attr("narrow")(nb::steal(PyTuple_GetSlice(box, 0, 1)));
  set_field(narrowed->field[Field::kIndex], index.ptr());
  set_field(narrowed->field[Field::kIndexRows], tensor->field[Field::kIndexRows]);
  set_field(narrowed->field[Field::kIndexStride], tensor->field[Field::kIndexStride]);
}

nb::object made_narrow(PyObject* self, PyObject* box) {
  nb::object made = tensor_of(self, view_of(self).narrowed(box_of(box)));
  const TensorObject* tensor = as_tensor(self);
  if (!is_absent(tensor->field[Field::kIndex])) narrow_index(tensor, box, as_tensor(made.ptr()));
  return made;
}

/// Whether it is a tensor in HBM, of which loops over masked parts take the same ones again.
bool is_plain_in_hbm(PyObject* self) {
  if (!is_tensor(self)) return false;
  const TensorObject* tensor = as_tensor(self);
  return tensor->field[Field::kAxis] == Py_None && !is_absent(tensor->field[Field::kStorage]) &&
         is_absent(tensor->field[Field::kIndex]) && is_absent(tensor->field[Field::kRegister]) &&
         is_absent(tensor->field[Field::kDynamic]);
}

/// What was made of a tensor by an index before, or make().
template <class Make>
PyObject* known_or_made(PyObject* self, const nb::object& index, Make make) {
  Part known;
  if (known.find(self, index.ptr())) return Py_NewRef(known.part);
  nb::object part = make();
  known.keep(part.ptr());
  return part.release().ptr();
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
    int64_t step = 0, size = 0;
    if (PySequence_Fast_GET_SIZE(pair.ptr()) != 2) {
      fail("an entry of a pattern is [step, size].");
    }
    must(read_integer(PySequence_Fast_GET_ITEM(pair.ptr(), 0), step) &&
         read_integer(PySequence_Fast_GET_ITEM(pair.ptr(), 1), size));
    view.append(size, step);
  }
  if (view.shape.empty()) {
    fail("a pattern has at least one entry, [step, size].", ErrorKind::kIndex);
  }
  return view;
}

/// Elements of a partition of the storage in the dtype of the tensor.
int64_t row_elements(const TensorObject* tensor) {
  const auto* storage = reinterpret_cast<StorageObject*>(tensor->field[Field::kStorage].ptr());
  PyObject* old = storage->field[StorageObject::kDtype];
  PyObject* dtype = tensor->field[Field::kDtype];
  const int64_t row =
      nb::cast<const View&>(nb::handle(storage->field[StorageObject::kWhole])).storage_elements();
  if (dtype == old) return row;
  return row * nb::cast<int64_t>(nb::handle(old).attr("itemsize")) /
         nb::cast<int64_t>(nb::handle(dtype).attr("itemsize"));
}

nb::object made_pattern(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) fail("pattern() takes dimensions and an offset.", ErrorKind::kType);
  must(settle_tensor(self));
  TensorView pattern = pairs_of(arguments[0]);
  if (as_tensor(self)->field[Field::kAxis] == Py_None) {
    pattern.start = position_of(arguments[1]);
  } else if (is_tensor(self)) {  // any other is refused: its tiles lie apart
    IndexExpression number;
    if (!is_expression(arguments[1])) number.position = position_of(arguments[1]);
    const IndexExpression& offset =
        is_expression(arguments[1]) ? expression_of(arguments[1]) : number;
    with_name_of(self, [&] {
      pattern = placed_pattern(view_of(self), pattern, offset, row_elements(as_tensor(self)));
    });
  }
  run_checks(self);
  return tensor_of(self, pattern);
}

}  // namespace

PyObject* narrow(PyObject* self, PyObject* box) {
  if (PyTuple_Check(box) == 0) return wrong_type("box", "a tuple", box);
  if (is_plain_in_hbm(self)) {
    const nb::object index = nb::steal(index_of_pairs(box, Py_Ellipsis));
    if (index.is_valid()) return known_or_made(self, index, [&] { return made_narrow(self, box); });
    must(PyErr_Occurred() == nullptr);
  }
  return made_narrow(self, box).release().ptr();
}

PyObject* row_of(PyObject* self, void*) {
  must(settle_tensor(self));
  return PyLong_FromLongLong(row_elements(as_tensor(self)));
}

PyObject* pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  return made_pattern(self, arguments, count).release().ptr();
}

PyObject* shared_pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  must(settle_tensor(self));
  if (count == 2 && is_tensor(self)) {
    const nb::object index = nb::steal(index_of_pairs(arguments[0], arguments[1]));
    const auto make = [&] { return made_pattern(self, arguments, count); };
    if (index.is_valid()) return known_or_made(self, index, make);
    must(PyErr_Occurred() == nullptr);
  }
  return pattern_of(self, arguments, count);
}

void bind_checks(nb::module_& module) {
  using Checks = std::vector<IndexCheck>;
  static PyType_Slot slots[] = {{Py_tp_new, pointer(create_held<Checks>)},
                                {Py_tp_dealloc, pointer(deallocate_held<Checks>)},
                                {0, nullptr}};
  PyType_Spec spec = {"neuron_sim._core.IndexChecks", sizeof(Held<Checks>), 0, Py_TPFLAGS_DEFAULT,
                      slots};
  checks_type = new_type(module, spec);
}

}  // namespace neuron_sim::tracing
