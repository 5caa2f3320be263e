// The types of loops, slices, storages and tensors for Python.

#include <nanobind/stl/string.h>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

namespace {

using Storage = StorageObject;
using Tensor = TensorObject;

/// Loop(key, name, kind, trip_count, affine)
int initialise_loop(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject *key = nullptr, *name = nullptr, *kind = nullptr, *affine = nullptr;
  long long trip_count = 0;
  must(PyArg_ParseTuple(arguments, "OUULO", &key, &name, &kind, &trip_count, &affine) != 0);
  auto* loop = static_cast<LoopObject*>(self);
  loop->value() = {nb::cast<std::string>(nb::handle(name)), trip_count,
                   nb::cast<Affine>(nb::handle(affine)),
                   PyUnicode_CompareWithASCIIString(kind, "affine") == 0};
  set_field(loop->key, key);
  set_field(loop->kind, kind);
  return 0;
}

int initialise_slice(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto* slice = static_cast<DynamicSliceObject*>(self);
  static const char* names[] = {"start", "size", nullptr};
  PyObject *start = nullptr, *size = nullptr;
  if (keywords == nullptr && PyTuple_GET_SIZE(arguments) == 2) {  // nearly always
    start = PyTuple_GET_ITEM(arguments, 0);
    size = PyTuple_GET_ITEM(arguments, 1);
  } else if (PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", const_cast<char**>(names),
                                         &start, &size) == 0) {
    return -1;
  }
  const nb::object index = nb::steal(PyNumber_Index(size));
  if (!index.is_valid()) return -1;
  slice->size = PyLong_AsLongLong(index.ptr());
  set_field(slice->start, start);
  return slice->size == -1 && PyErr_Occurred() != nullptr ? -1 : 0;
}

/// Storage(trace, name, buffer, shape, dtype, whole, scope, axis=0)
int initialise_storage(PyObject* self, PyObject* arguments, PyObject*) {
  auto* storage = static_cast<Storage*>(self);
  static PyObject* zero = PyLong_FromLong(0);
  Owned* const fields[] = {&storage->trace, &storage->name,  &storage->buffer, &storage->shape,
                           &storage->dtype, &storage->whole, &storage->scope,  &storage->axis};
  PyObject* values[8] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, zero};
  must(PyArg_ParseTuple(arguments, "O!OOOOOO|O", trace_type, &values[0], &values[1], &values[2],
                        &values[3], &values[4], &values[5], &values[6], &values[7]) != 0);
  for (int i = 0; i < 8; ++i) set_field(*fields[i], values[i]);
  storage->memory = nb::object(storage->buffer.attr("memory"));
  if (PyUnicode_Check(storage->memory) == 0) wrong_type("memory", "a str", storage->memory);
  storage->in_psum = PyUnicode_CompareWithASCIIString(storage->memory, "psum") == 0;
  storage->made_at = as_trace(storage->trace)->uses;
  storage->is_mutable = 1;
  return 0;
}

/// Tensor(storage, shape, dtype, axis, steps=None): dense without steps.
int initialise_tensor(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject *storage = nullptr, *shape = nullptr, *dtype = nullptr, *axis = nullptr;
  PyObject* steps = Py_None;
  must(PyArg_ParseTuple(arguments, "OOOO|O", &storage, &shape, &dtype, &axis, &steps) != 0);
  if (storage != Py_None && PyObject_TypeCheck(storage, storage_type) == 0) {
    fail("the storage of a tensor is a TensorStorage or None.", ErrorKind::kType);
  }
  Tensor* tensor = as_tensor(self);
  tensor->value() = TensorView::dense(sizes_of(shape), axis_of(axis));
  if (steps != Py_None) tensor->steps = sizes_of(steps);
  if (tensor->steps.size() != tensor->shape.size()) fail("steps do not fit shape.");
  set_field(tensor->storage, storage == Py_None ? nullptr : storage);
  set_field(tensor->dtype, dtype);
  return 0;
}

PyObject* settled_tensor(PyObject* self, PyObject*) {
  settle_tensor(self);
  return Py_NewRef(self);
}

nb::object storage_or_none(Tensor& tensor) {
  return is_absent(tensor.storage) ? nb::none() : nb::object(tensor.storage);
}

int set_tensor_storage(PyObject* self, PyObject* storage, void*) {
  if (storage == nullptr || PyObject_TypeCheck(storage, storage_type) == 0) {
    fail("the storage of a tensor is a TensorStorage.", ErrorKind::kType);
  }
  set_field(as_tensor(self)->storage, storage);
  return 0;
}

/// The buffer that a tensor's storage has, or will have once written.
nb::object buffer_of(Tensor& tensor) {
  if (!is_absent(tensor.storage)) return storage_of(&tensor)->buffer;
  if (!is_absent(tensor.pending)) return as_pending(tensor.pending)->buffer;
  PyErr_SetString(PyExc_AttributeError, "a tensor without a storage has no buffer.");
  throw nb::python_error();
}

nb::object memory_of(Tensor& tensor) {
  if (!is_absent(tensor.storage)) return storage_of(&tensor)->memory;
  return buffer_of(tensor).attr("memory");
}

nb::object shape_tuple(Tensor& tensor) {
  if (!tensor.sizes.is_valid()) tensor.sizes = tuple_of(tensor.shape);
  return tensor.sizes;
}

nb::object views_of(Storage& storage) {
  if (!storage.views.is_valid()) storage.views = nb::dict();
  return storage.views;
}

}  // namespace

nb::object packed(Objects objects) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
  must(tuple.is_valid());
  for (size_t i = 0; i < objects.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(objects[i]));
  }
  return tuple;
}

void wrong_type(const char* argument, const char* wanted, PyObject* given) {
  PyErr_Format(PyExc_TypeError, "'%s' is of type %s, not %s.", argument, Py_TYPE(given)->tp_name,
               wanted);
  throw nb::python_error();
}

void bind_loop_and_storage(nanobind::module_& module) {
  static PyMemberDef of_loop[] = {member<LoopObject>("key", &LoopObject::key, READONLY),
                                  member<LoopObject>("kind", &LoopObject::kind, READONLY),
                                  member<LoopObject>("opened_at", &LoopObject::opened_at),
                                  {}};
  static PyGetSetDef properties_of_loop[] = {
      property<LoopObject, [](LoopObject& loop) -> nb::object { return nb::cast(loop.name); }>(
          "name", "Of the variable, in texts."),
      {}};
  loop_type = made_type<LoopObject>(module, "neuron_sim._core.CountedLoop",
                                    {{Py_tp_init, pointer(slot<initialise_loop>)},
                                     {Py_tp_members, of_loop},
                                     {Py_tp_getset, properties_of_loop}});
  using Slice = DynamicSliceObject;
  static PyMemberDef of_slice[] = {member<Slice>("start", &Slice::start, READONLY),
                                   member<Slice>("size", &Slice::size, READONLY),
                                   {}};
  slice_type = made_type<Slice>(
      module, "neuron_sim._core.DynamicSlice",
      {{Py_tp_init, pointer(slot<initialise_slice>)},
       {Py_tp_members, of_slice},
       {Py_tp_doc,
        const_cast<char*>("nl.ds(start, size): elements start .. start + size - 1; start may be "
                          "symbolic.")}});
  static PyMemberDef of_storage[] = {member<Storage>("trace", &Storage::trace, READONLY),
                                     member<Storage>("name", &Storage::name),
                                     member<Storage>("buffer", &Storage::buffer),
                                     member<Storage>("memory", &Storage::memory, READONLY),
                                     member<Storage>("shape", &Storage::shape),
                                     member<Storage>("dtype", &Storage::dtype),
                                     member<Storage>("whole", &Storage::whole, READONLY),
                                     member<Storage>("scope", &Storage::scope),
                                     member<Storage>("axis", &Storage::axis),
                                     member<Storage>("ordinal", &Storage::ordinal),
                                     member<Storage>("argument", &Storage::argument),
                                     member<Storage>("made_at", &Storage::made_at),
                                     member<Storage>("uses", &Storage::uses),
                                     member<Storage>("last_use", &Storage::last_use),
                                     member<Storage>("mutable", &Storage::is_mutable),
                                     member<Storage>("written", &Storage::written),
                                     {}};
  static PyGetSetDef properties[] = {
      property<Storage, views_of>("views", "dict: dtype -> the whole as its elements."), {}};
  storage_type = made_type<Storage>(module, "neuron_sim._core.TensorStorage",
                                    {{Py_tp_init, pointer(slot<initialise_storage>)},
                                     {Py_tp_members, of_storage},
                                     {Py_tp_getset, properties}});
}

void bind_tensor(nanobind::module_& module) {
  static PyMemberDef members[] = {member<Tensor>("dtype", &Tensor::dtype),
                                  member<Tensor>("index", &Tensor::index),
                                  member<Tensor>("index_rows", &Tensor::index_rows),
                                  member<Tensor>("index_stride", &Tensor::index_stride),
                                  member<Tensor>("register", &Tensor::at_register),
                                  member<Tensor>("dynamic", &Tensor::dynamic),
                                  member<Tensor>("pending", &Tensor::pending, READONLY),
                                  {}};
  static PyGetSetDef properties[] = {
      property<Tensor, shape_tuple>("shape", "Sizes of the dimensions."),
      property<Tensor, [](Tensor& tensor) { return tuple_of(tensor.steps); }>(
          "steps", "Elements from one index to the next, by dimension."),
      property<Tensor,
               [](Tensor& tensor) -> nb::object {
                 return tensor.axis < 0 ? nb::none() : nb::object(nb::int_(tensor.axis));
               }>("axis", "The dimension of partitions; None in HBM."),
      property<Tensor, [](Tensor& tensor) { return object_of(tensor.partition); }>(
          "partition", "The first partition."),
      property<Tensor, [](Tensor& tensor) { return object_of(tensor.start); }>(
          "start", "The first element of a partition, or in HBM."),
      property<Tensor, [](Tensor& tensor) { return access_of(&tensor); }>(
          "access", "The View of exactly this access pattern, which the builder takes."),
      {"storage", slot<&get<Tensor, storage_or_none>>, slot<set_tensor_storage>,
       "None of a result that is not written.", nullptr},
      property<Tensor, buffer_of>("buffer", "The memory it was created in."),
      property<Tensor, memory_of>("memory", "\"sbuf\", \"psum\" or \"hbm\"."),
      property<Tensor, row_of>("row", "Elements of a partition of the storage."),
      property<Tensor, [](Tensor& tensor) -> nb::object { return nb::int_(tensor.shape.size()); }>(
          "ndim", "Number of dimensions."),
      {}};
  static PyMethodDef methods[] = {
      {"settle", slot<settled_tensor>, METH_NOARGS,
       "Emits the instruction of a result that was not assigned anywhere."},
      {"narrow", slot<narrow>, METH_O,
       "The part of a tensor that a mask leaves; box: (start, size) per dimension."},
      {"pattern", fast(slot<pattern_of>), METH_FASTCALL,
       "([[step, size], ...], offset): ap() of a pattern without dynamic parts; perhaps a tensor "
       "that was made before, not to be changed."},
      {"indexed", slot<indexed>, METH_O,
       "tensor[items] of numbers, slices, nl.ds, `...`, None or index expressions."},
      {"gathered", slot<gathered>, METH_O, "tensor[items] of index expressions and numbers alone."},
      {"same_storage", fast(slot<tensor_same_storage>), METH_FASTCALL,
       "(shape, steps[, axis, partition, start]): another pattern, of unchecked indices."},
      {"derived", fast(slot<tensor_derived>), METH_FASTCALL,
       "The same; what was indexed before is checked now."},
      {"reshaped", slot<tensor_reshaped>, METH_O,
       "(sizes): the elements in their order; one size may be -1."},
      {"repeated", slot<tensor_broadcast_to>, METH_O,
       "(sizes): the free dimensions (all in HBM) repeated to a shape, with step 0."},
      {"with_new_axes", slot<tensor_with_new_axes>, METH_O,
       "(axes): a dimension of size 1 at each of them, on chip after the partition dimension."},
      {"without_axis", slot<tensor_without_axis>, METH_O, "(axis), of size 1."},
      {"permuted", slot<tensor_permuted>, METH_O,
       "(dims): dimensions in another order; that of partitions stays in its place."},
      {"with_elements_of", slot<tensor_reinterpreted>, METH_O,
       "(dtype): the same bytes; the last dimension scales with the element size."},
      {"is_contiguous", slot<tensor_is_contiguous>, METH_NOARGS,
       "Whether the free dimensions (all in HBM) are dense in row-major order."},
      {"as_column", slot<as_column>, METH_NOARGS,
       "A vector as [N, 1], which is how it lies on chip; one element as [1, 1]."},
      {"is_same_view", slot<is_same_view>, METH_O, "Of tensors of one storage."},
      {"run_checks", slot<checked>, METH_NOARGS,
       "The bounds of every index, over all trips of the loops and positions of the tile."},
      {}};
  // The subscript slots are those of the mapping protocol; `+=` is the number protocol's.
  tensor_type = made_type<Tensor>(module, "neuron_sim._core.TensorPattern",
                                  {{Py_tp_init, pointer(slot<initialise_tensor>)},
                                   {Py_tp_members, members},
                                   {Py_tp_getset, properties},
                                   {Py_tp_methods, methods},
                                   {Py_mp_subscript, pointer(slot<subscript>)},
                                   {Py_mp_ass_subscript, pointer(slot<assign_subscript>)},
                                   {Py_nb_inplace_add, pointer(slot<add_in_place>)}});
}

}  // namespace neuron_sim::tracing
