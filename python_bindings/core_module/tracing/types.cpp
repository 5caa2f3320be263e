// The types of loops, slices, storages and tensors for Python.

#include <nanobind/stl/string.h>

#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

namespace {

int initialise_loop(PyObject* self, PyObject* arguments, PyObject*) {
  auto* loop = reinterpret_cast<LoopObject*>(self);
  PyObject *key = nullptr, *name = nullptr, *kind = nullptr, *affine = nullptr;
  long long trip_count = 0;
  if (PyArg_ParseTuple(arguments, "OUULOL", &key, &name, &kind, &trip_count, &affine,
                       &loop->depth) == 0) {
    return -1;
  }
  loop->loop = {nb::cast<std::string>(nb::handle(name)), trip_count,
                nb::cast<Affine>(nb::handle(affine))};
  set_field(loop->field[LoopObject::kKey], key);
  set_field(loop->field[LoopObject::kName], name);
  set_field(loop->field[LoopObject::kKind], kind);
  set_field(loop->field[LoopObject::kAffine], affine);
  return 0;
}

PyObject* create_loop(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made != nullptr) new (&reinterpret_cast<LoopObject*>(made)->loop) Loop();
  return made;
}

void deallocate_loop(PyObject* self) {
  reinterpret_cast<LoopObject*>(self)->loop.~Loop();
  deallocate<LoopObject>(self);
}

int initialise_slice(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto* slice = reinterpret_cast<DynamicSliceObject*>(self);
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
  set_field(slice->field[DynamicSliceObject::kStart], start);
  return slice->size == -1 && PyErr_Occurred() != nullptr ? -1 : 0;
}

int initialise_storage(PyObject* self, PyObject* arguments, PyObject*) {
  auto* storage = reinterpret_cast<StorageObject*>(self);
  static PyObject* zero = PyLong_FromLong(0);
  PyObject* values[8] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, zero};
  if (PyArg_ParseTuple(arguments, "O!OOOOOO|O", trace_type, &values[0], &values[1], &values[2],
                       &values[3], &values[4], &values[5], &values[6], &values[7]) == 0) {
    return -1;
  }
  constexpr int kFields[] = {StorageObject::kTrace, StorageObject::kName,  StorageObject::kBuffer,
                             StorageObject::kShape, StorageObject::kDtype, StorageObject::kWhole,
                             StorageObject::kScope, StorageObject::kAxis};
  for (int i = 0; i < 8; ++i) set_field(storage->field[kFields[i]], values[i]);
  Owned& memory = storage->field[StorageObject::kMemory];
  memory = nb::steal(PyObject_GetAttrString(values[2], "memory"));
  if (!memory.is_valid()) return -1;
  if (PyUnicode_Check(memory.ptr()) == 0) wrong_type("memory", "a str", memory);
  storage->in_psum = PyUnicode_CompareWithASCIIString(memory, "psum") == 0;
  storage->made_at = reinterpret_cast<TraceObject*>(values[0])->uses;
  storage->is_mutable = 1;
  return 0;
}

PyObject* create_tensor(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* made = PyType_GenericAlloc(type, 0);
  if (made != nullptr) new (&as_tensor(made)->view) TensorView();
  return made;
}

void deallocate_tensor(PyObject* self) {
  PyObject_GC_UnTrack(self);
  for_loops(as_tensor(self)->view, [](nb::handle loop) { loop.dec_ref(); });
  as_tensor(self)->view.~TensorView();
  deallocate<TensorObject>(self);
}

/// Tensor(storage, shape, dtype, axis, steps=None): dense without steps.
int initialise_tensor(PyObject* self, PyObject* arguments, PyObject*) {
  PyObject *storage = nullptr, *shape = nullptr, *dtype = nullptr, *axis = nullptr;
  PyObject* steps = Py_None;
  if (PyArg_ParseTuple(arguments, "OOOO|O", &storage, &shape, &dtype, &axis, &steps) == 0) {
    return -1;
  }
  if (storage != Py_None && PyObject_TypeCheck(storage, storage_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "the storage of a tensor is a TensorStorage or None.");
    return -1;
  }
  TensorObject* tensor = as_tensor(self);
  tensor->view = TensorView::dense(sizes_of(shape), axis_of(axis));
  if (steps != Py_None) tensor->view.steps = sizes_of(steps);
  if (tensor->view.steps.size() != tensor->view.shape.size()) fail("steps do not fit shape.");
  set_field(tensor->field[TensorObject::kStorage], storage == Py_None ? nullptr : storage);
  set_field(tensor->field[TensorObject::kDtype], dtype);
  return 0;
}

PyObject* tensor_shape(PyObject* self, void*) {
  Owned& shape = as_tensor(self)->field[TensorObject::kShape];
  if (!shape.is_valid()) shape = nb::steal(tuple_of(shape_of(self)));
  return Py_XNewRef(shape.ptr());
}

PyObject* tensor_steps(PyObject* self, void*) { return tuple_of(as_tensor(self)->view.steps); }

PyObject* tensor_axis(PyObject* self, void*) {
  const int axis = as_tensor(self)->view.axis;
  return axis < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(axis);
}

PyObject* tensor_partition(PyObject* self, void*) {
  return object_of(as_tensor(self)->view.partition).release().ptr();
}

PyObject* tensor_start(PyObject* self, void*) {
  return object_of(as_tensor(self)->view.start).release().ptr();
}

PyObject* tensor_access(PyObject* self, void*) {
  return access_of(as_tensor(self)).release().ptr();
}

PyObject* settled_tensor(PyObject* self, PyObject*) {
  settle_tensor(self);
  return Py_NewRef(self);
}

PyObject* tensor_storage(PyObject* self, void*) {
  PyObject* storage = as_tensor(self)->field[TensorObject::kStorage];
  return Py_NewRef(storage == nullptr ? Py_None : storage);
}

int set_tensor_storage(PyObject* self, PyObject* storage, void*) {
  if (storage == nullptr || PyObject_TypeCheck(storage, storage_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "the storage of a tensor is a TensorStorage.");
    return -1;
  }
  set_field(as_tensor(self)->field[TensorObject::kStorage], storage);
  return 0;
}

/// The buffer that a tensor's storage has, or will have once written.
PyObject* tensor_buffer(PyObject* self, void*) {
  PyObject* pending = as_tensor(self)->field[TensorObject::kPending];
  if (!is_absent(as_tensor(self)->field[TensorObject::kStorage])) {
    return Py_NewRef(storage_of(self)->field[StorageObject::kBuffer]);
  }
  if (!is_absent(pending)) return Py_NewRef(as_pending(pending)->field[PendingObject::kBuffer]);
  PyErr_SetString(PyExc_AttributeError, "a tensor without a storage has no buffer.");
  return nullptr;
}

PyObject* tensor_memory(PyObject* self, void*) {
  if (!is_absent(as_tensor(self)->field[TensorObject::kStorage])) {
    return Py_NewRef(storage_of(self)->field[StorageObject::kMemory]);
  }
  const nb::object buffer = nb::steal(tensor_buffer(self, nullptr));
  return buffer.is_valid() ? PyObject_GetAttrString(buffer.ptr(), "memory") : nullptr;
}

PyObject* tensor_rank(PyObject* self, void*) { return PyLong_FromSize_t(shape_of(self).size()); }

/// Created on first access.
PyObject* storage_views(PyObject* self, void*) {
  Owned& views = reinterpret_cast<StorageObject*>(self)->field[StorageObject::kTyped];
  if (!views.is_valid()) views = nb::steal(PyDict_New());
  return Py_XNewRef(views.ptr());
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
  static PyMemberDef of_loop[] = {
      object_member<LoopObject>("key", LoopObject::kKey, READONLY),
      object_member<LoopObject>("name", LoopObject::kName, READONLY),
      object_member<LoopObject>("kind", LoopObject::kKind, READONLY),
      object_member<LoopObject>("affine", LoopObject::kAffine, READONLY),
      {"trip_count", T_LONGLONG, offsetof(LoopObject, loop.trip_count), 0, nullptr},
      {"depth", T_LONGLONG, offsetof(LoopObject, depth), 0, nullptr},
      {"opened_at", T_LONGLONG, offsetof(LoopObject, opened_at), 0, nullptr},
      {}};
  loop_type =
      made<LoopObject>(module, "neuron_sim._core.CountedLoop", of_loop, slot<initialise_loop>,
                       nullptr, nullptr, {Py_tp_new, pointer(create_loop)});
  loop_type->tp_dealloc = deallocate_loop;
  static PyMemberDef of_slice[] = {
      object_member<DynamicSliceObject>("start", DynamicSliceObject::kStart, READONLY),
      {"size", T_LONGLONG, offsetof(DynamicSliceObject, size), READONLY, nullptr},
      {}};
  made<DynamicSliceObject>(module, "neuron_sim._core.DynamicSlice", of_slice, initialise_slice);
  using Storage = StorageObject;
  static PyMemberDef of_storage[] = {
      object_member<Storage>("trace", Storage::kTrace, READONLY),
      object_member<Storage>("name", Storage::kName),
      object_member<Storage>("buffer", Storage::kBuffer),
      object_member<Storage>("memory", Storage::kMemory, READONLY),
      object_member<Storage>("shape", Storage::kShape),
      object_member<Storage>("dtype", Storage::kDtype),
      object_member<Storage>("whole", Storage::kWhole, READONLY),
      object_member<Storage>("scope", Storage::kScope),
      object_member<Storage>("axis", Storage::kAxis),
      object_member<Storage>("ordinal", Storage::kOrdinal),
      object_member<Storage>("argument", Storage::kArgument),
      {"made_at", T_LONGLONG, offsetof(Storage, made_at), 0, nullptr},
      {"uses", T_LONGLONG, offsetof(Storage, uses), 0, nullptr},
      {"last_use", T_LONGLONG, offsetof(Storage, last_use), 0, nullptr},
      {"mutable", T_BOOL, offsetof(Storage, is_mutable), 0, nullptr},
      {"written", T_BOOL, offsetof(Storage, written), 0, nullptr},
      {}};
  static PyGetSetDef properties[] = {
      {"views", storage_views, nullptr, "dict: dtype -> the whole as its elements.", nullptr}, {}};
  storage_type = made<Storage>(module, "neuron_sim._core.TensorStorage", of_storage,
                               slot<initialise_storage>, properties);
}

void bind_tensor(nanobind::module_& module) {
  using Tensor = TensorObject;
  static PyMemberDef members[] = {
      object_member<Tensor>("dtype", Tensor::kDtype),
      object_member<Tensor>("index", Tensor::kIndex),
      {"index_rows", T_LONGLONG, offsetof(Tensor, index_rows), 0, {}},
      {"index_stride", T_LONGLONG, offsetof(Tensor, index_stride), 0, {}},
      object_member<Tensor>("register", Tensor::kRegister),
      object_member<Tensor>("dynamic", Tensor::kDynamic),
      object_member<Tensor>("pending", Tensor::kPending, READONLY),
      {}};
  static PyGetSetDef properties[] = {
      {"shape", tensor_shape, nullptr, "Sizes of the dimensions.", nullptr},
      {"steps", tensor_steps, nullptr, "Elements from one index to the next, by dimension.",
       nullptr},
      {"axis", tensor_axis, nullptr, "The dimension of partitions; None in HBM.", nullptr},
      {"partition", slot<tensor_partition>, nullptr, "The first partition.", nullptr},
      {"start", slot<tensor_start>, nullptr, "The first element of a partition, or in HBM.",
       nullptr},
      {"access", slot<tensor_access>, nullptr,
       "The View of exactly this access pattern: what an instruction of the builder takes.",
       nullptr},
      {"storage", tensor_storage, set_tensor_storage, "None of a result that is not written.",
       nullptr},
      {"buffer", tensor_buffer, nullptr, "The memory it was created in.", nullptr},
      {"memory", tensor_memory, nullptr, "\"sbuf\", \"psum\" or \"hbm\".", nullptr},
      {"row", slot<row_of>, nullptr, "Elements of a partition of the storage.", nullptr},
      {"ndim", tensor_rank, nullptr, "Number of dimensions.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"settle", slot<settled_tensor>, METH_NOARGS,
       "Emits the instruction of a result that was not assigned anywhere."},
      {"narrow", slot<narrow>, METH_O,
       "The part of a tensor that a mask leaves; box: (start, size) per dimension."},
      {"pattern", fast(slot<pattern_of>), METH_FASTCALL,
       "([[step, size], ...], offset): ap() of a pattern without dynamic parts."},
      {"shared_pattern", fast(slot<shared_pattern_of>), METH_FASTCALL,
       "The same, perhaps a tensor that was made before: not to be changed."},
      {"indexed", slot<indexed>, METH_O,
       "tensor[items] of numbers, slices, nl.ds, `...`, None or index expressions."},
      {"gathered", slot<gathered>, METH_O, "tensor[items] of index expressions and numbers alone."},
      {"same_storage", fast(slot<tensor_same_storage>), METH_FASTCALL,
       "(shape, steps, axis, partition, start): another pattern, whose indices are not checked "
       "yet."},
      {"derived", fast(slot<tensor_derived>), METH_FASTCALL,
       "The same; what was indexed before is checked now."},
      {"as_column", slot<as_column>, METH_NOARGS,
       "A vector as [N, 1], which is how it lies on chip; one element as [1, 1]."},
      {"run_checks", slot<checked>, METH_NOARGS,
       "The bounds of every index, over all trips of the loops and positions of the tile."},
      {}};
  // The subscript slots are those of the mapping protocol; `+=` is the number protocol's.
  PyType_Slot slots[] = {{Py_tp_new, pointer(create_tensor)},
                         {Py_tp_init, pointer(slot<initialise_tensor>)},
                         {Py_tp_dealloc, pointer(deallocate_tensor)},
                         {Py_tp_traverse, pointer(traverse<Tensor>)},
                         {Py_tp_clear, pointer(clear<Tensor>)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {Py_mp_subscript, pointer(slot<subscript>)},
                         {Py_mp_ass_subscript, pointer(slot<assign_subscript>)},
                         {Py_nb_inplace_add, pointer(slot<add_in_place>)},
                         {0, nullptr}};
  PyType_Spec spec = {"neuron_sim._core.TensorPattern", sizeof(Tensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nanobind::python_error();
  module.attr("TensorPattern") = nanobind::handle(type);
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace neuron_sim::tracing
