// The types of traced_objects.h for Python.

#include <nanobind/nanobind.h>

#include <cstring>

#include "python_bindings/core_module/bindings.h"
#include "python_bindings/core_module/traced_objects.h"

namespace neuron_sim::tracing {

extern PyType_Spec expression_spec;

Connections connections{};
PyTypeObject* loop_type = nullptr;
PyTypeObject* expression_type = nullptr;
PyTypeObject* storage_type = nullptr;
PyTypeObject* tensor_type = nullptr;
PyTypeObject* pending_type = nullptr;
PyTypeObject* trace_type = nullptr;
PyTypeObject* instruction_type = nullptr;

namespace {

template <class Function>
void* pointer(Function function) {
  return reinterpret_cast<void*>(function);
}

/// The member of a field of an object, readable and writable.
template <class Object>
constexpr PyMemberDef object_member(const char* name, int index, int flags = 0) {
  const auto place = static_cast<Py_ssize_t>(offsetof(Object, field));
  return {name, T_OBJECT, place + index * static_cast<Py_ssize_t>(sizeof(PyObject*)), flags,
          nullptr};
}

template <class Object>
PyTypeObject* made(nanobind::module_& module, const char* name, PyMemberDef* members,
                   initproc initialise, PyGetSetDef* properties = nullptr,
                   PyMethodDef* methods = nullptr, PyType_Slot last = {0, nullptr}) {
  static PyGetSetDef no_properties[] = {{}};
  static PyMethodDef no_methods[] = {{}};
  PyType_Slot slots[] = {{Py_tp_new, pointer(PyType_GenericNew)},
                         {Py_tp_init, pointer(initialise)},
                         {Py_tp_dealloc, pointer(deallocate<Object>)},
                         {Py_tp_traverse, pointer(traverse<Object>)},
                         {Py_tp_clear, pointer(clear<Object>)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties == nullptr ? no_properties : properties},
                         {Py_tp_methods, methods == nullptr ? no_methods : methods},
                         last,
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(Object), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nanobind::python_error();
  module.attr(strrchr(name, '.') + 1) = nanobind::handle(type);
  return reinterpret_cast<PyTypeObject*>(type);
}

int initialise_loop(PyObject* self, PyObject* arguments, PyObject*) {
  auto* loop = reinterpret_cast<LoopObject*>(self);
  PyObject *key = nullptr, *name = nullptr, *kind = nullptr, *affine = nullptr;
  if (PyArg_ParseTuple(arguments, "OOOLOL", &key, &name, &kind, &loop->trip_count, &affine,
                       &loop->depth) == 0) {
    return -1;
  }
  set_field(loop->field[LoopObject::kKey], key);
  set_field(loop->field[LoopObject::kName], name);
  set_field(loop->field[LoopObject::kKind], kind);
  set_field(loop->field[LoopObject::kAffine], affine);
  return 0;
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
  PyObject* memory = PyObject_GetAttrString(values[2], "memory");
  if (memory == nullptr) return -1;
  set_field(storage->field[StorageObject::kMemory], memory);
  Py_DECREF(memory);
  storage->in_psum = PyUnicode_CompareWithASCIIString(memory, "psum") == 0;
  storage->made_at = reinterpret_cast<TraceObject*>(values[0])->uses;
  storage->is_mutable = 1;
  return 0;
}

int initialise_tensor(PyObject* self, PyObject* arguments, PyObject*) {
  static PyObject* zero = PyLong_FromLong(0);
  PyObject* values[7] = {nullptr, nullptr, nullptr, nullptr, nullptr, zero, zero};
  if (PyArg_ParseTuple(arguments, "OOOOO|OO", &values[0], &values[1], &values[2], &values[3],
                       &values[4], &values[5], &values[6]) == 0) {
    return -1;
  }
  constexpr int kFields[] = {TensorObject::kStorage, TensorObject::kShape, TensorObject::kDtype,
                             TensorObject::kSteps,   TensorObject::kAxis,  TensorObject::kPartition,
                             TensorObject::kStart};
  for (int i = 0; i < 7; ++i) set_field(as_tensor(self)->field[kFields[i]], values[i]);
  return 0;
}

int initialise_nothing(PyObject*, PyObject*, PyObject*) { return 0; }

int initialise_trace(PyObject* self, PyObject*, PyObject*) {
  auto* trace = reinterpret_cast<TraceObject*>(self);
  trace->field[TraceObject::kLoops] = PyList_New(0);
  trace->field[TraceObject::kScopes] = PySet_New(nullptr);
  trace->field[TraceObject::kOpenScopes] = PyList_New(0);
  trace->field[TraceObject::kUnshadowed] = PySet_New(nullptr);
  return PyErr_Occurred() == nullptr ? 0 : -1;
}

int initialise_instruction(PyObject* self, PyObject* arguments, PyObject*) {
  auto* instruction = reinterpret_cast<InstructionObject*>(self);
  PyObject* method = nullptr;
  instruction->accumulate_at = -1;
  if (PyArg_ParseTuple(arguments, "O|L", &method, &instruction->accumulate_at) == 0) return -1;
  set_field(instruction->field[InstructionObject::kMethod], method);
  return 0;
}

PyObject* tensor_access(PyObject* self, void*) { return access_of(as_tensor(self)); }

PyObject* settled_tensor(PyObject* self, PyObject*) {
  if (!settle_tensor(self)) return nullptr;
  return Py_NewRef(self);
}

/// What the storage of a tensor has, or will have when it is written.
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
  PyObject* buffer = tensor_buffer(self, nullptr);
  PyObject* memory = buffer == nullptr ? nullptr : PyObject_GetAttrString(buffer, "memory");
  Py_XDECREF(buffer);
  return memory;
}

PyObject* tensor_rank(PyObject* self, void*) {
  PyObject* shape = as_tensor(self)->field[TensorObject::kShape];
  return PyLong_FromSsize_t(PyObject_Length(shape));
}

/// Made when it is asked for.
PyObject* storage_views(PyObject* self, void*) {
  PyObject*& views = reinterpret_cast<StorageObject*>(self)->field[StorageObject::kTyped];
  if (views == nullptr) views = PyDict_New();
  return Py_XNewRef(views);
}

void bind_loop_and_storage(nanobind::module_& module) {
  using Loop = LoopObject;
  static PyMemberDef of_loop[] = {
      object_member<Loop>("key", Loop::kKey),
      object_member<Loop>("name", Loop::kName),
      object_member<Loop>("kind", Loop::kKind),
      object_member<Loop>("affine", Loop::kAffine),
      {"trip_count", T_LONGLONG, offsetof(Loop, trip_count), 0, nullptr},
      {"depth", T_LONGLONG, offsetof(Loop, depth), 0, nullptr},
      {"opened_at", T_LONGLONG, offsetof(Loop, opened_at), 0, nullptr},
      {}};
  loop_type = made<Loop>(module, "neuron_sim._core.CountedLoop", of_loop, initialise_loop);
  using Storage = StorageObject;
  static PyMemberDef of_storage[] = {
      object_member<Storage>("trace", Storage::kTrace),
      object_member<Storage>("name", Storage::kName),
      object_member<Storage>("buffer", Storage::kBuffer),
      object_member<Storage>("memory", Storage::kMemory),
      object_member<Storage>("shape", Storage::kShape),
      object_member<Storage>("dtype", Storage::kDtype),
      object_member<Storage>("whole", Storage::kWhole),
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
                               initialise_storage, properties);
}

void bind_tensor(nanobind::module_& module) {
  using Tensor = TensorObject;
  static PyMemberDef members[] = {object_member<Tensor>("storage", Tensor::kStorage),
                                  object_member<Tensor>("shape", Tensor::kShape),
                                  object_member<Tensor>("dtype", Tensor::kDtype),
                                  object_member<Tensor>("steps", Tensor::kSteps),
                                  object_member<Tensor>("axis", Tensor::kAxis),
                                  object_member<Tensor>("partition", Tensor::kPartition),
                                  object_member<Tensor>("start", Tensor::kStart),
                                  object_member<Tensor>("checks", Tensor::kChecks),
                                  object_member<Tensor>("index", Tensor::kIndex),
                                  object_member<Tensor>("index_rows", Tensor::kIndexRows),
                                  object_member<Tensor>("index_stride", Tensor::kIndexStride),
                                  object_member<Tensor>("register", Tensor::kRegister),
                                  object_member<Tensor>("dynamic", Tensor::kDynamic),
                                  object_member<Tensor>("pending", Tensor::kPending),
                                  object_member<Tensor>("_access", Tensor::kAccess),
                                  {}};
  static PyGetSetDef properties[] = {
      {"access", tensor_access, nullptr,
       "The View of exactly this access pattern: what an instruction of the builder takes.",
       nullptr},
      {"buffer", tensor_buffer, nullptr, "The memory it was created in.", nullptr},
      {"memory", tensor_memory, nullptr, "\"sbuf\", \"psum\" or \"hbm\".", nullptr},
      {"ndim", tensor_rank, nullptr, "Number of dimensions.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"settle", settled_tensor, METH_NOARGS,
       "Emits the instruction of a result that was not assigned anywhere."},
      {}};
  // The subscript slots are those of the mapping protocol; `+=` is the number protocol's.
  PyType_Slot slots[] = {{Py_tp_new, pointer(PyType_GenericNew)},
                         {Py_tp_init, pointer(initialise_tensor)},
                         {Py_tp_dealloc, pointer(deallocate<Tensor>)},
                         {Py_tp_traverse, pointer(traverse<Tensor>)},
                         {Py_tp_clear, pointer(clear<Tensor>)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {Py_mp_subscript, pointer(subscript)},
                         {Py_mp_ass_subscript, pointer(assign_subscript)},
                         {Py_nb_inplace_add, pointer(add_in_place)},
                         {0, nullptr}};
  PyType_Spec spec = {"neuron_sim._core.TensorPattern", sizeof(Tensor), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nanobind::python_error();
  module.attr("TensorPattern") = nanobind::handle(type);
  tensor_type = reinterpret_cast<PyTypeObject*>(type);
}

void bind_trace(nanobind::module_& module) {
  using Pending = PendingObject;
  static PyMemberDef of_pending[] = {object_member<Pending>("trace", Pending::kTrace),
                                     object_member<Pending>("tensor", Pending::kTensor),
                                     object_member<Pending>("buffer", Pending::kBuffer),
                                     object_member<Pending>("place", Pending::kPlace),
                                     object_member<Pending>("name", Pending::kName),
                                     {}};
  pending_type =
      made<Pending>(module, "neuron_sim._core.DeferredResult", of_pending, initialise_nothing);
  using Trace = TraceObject;
  static PyMemberDef of_trace[] = {object_member<Trace>("_builder", Trace::kBuilder),
                                   object_member<Trace>("_pending", Trace::kPending),
                                   object_member<Trace>("_line", Trace::kLine),
                                   object_member<Trace>("loops", Trace::kLoops),
                                   object_member<Trace>("scopes", Trace::kScopes),
                                   object_member<Trace>("open_scopes", Trace::kOpenScopes),
                                   object_member<Trace>("allocation", Trace::kAllocation),
                                   object_member<Trace>("_unshadowed", Trace::kUnshadowed),
                                   {"uses", T_LONGLONG, offsetof(Trace, uses), 0, nullptr},
                                   {"widens", T_BOOL, offsetof(Trace, widens), 0, nullptr},
                                   {"_emitting", T_BOOL, offsetof(Trace, emitting), 0, nullptr},
                                   {"is_old", T_BOOL, offsetof(Trace, is_old), 0, nullptr},
                                   {}};
  static PyGetSetDef properties[] = {
      {"builder", trace_builder, nullptr,
       "The builder, after what is pending was emitted; its source line is the kernel's.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"result", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(trace_result)),
       METH_FASTCALL | METH_KEYWORDS,
       "A tile that `emit(tensor, *operands)` writes: now if it is used, later if it is "
       "assigned.\n\n`t[...] = result` makes emit write into t (unless `explicit`, the user's "
       "dtype=, is not that of t), `t += result` too when it `accumulates`: emit(t, "
       "accumulate=True). An Instruction as `emit` is called with the access of the tensors."},
      {"settled_into", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(trace_settled_into)),
       METH_FASTCALL,
       "(target, value, unshared): emits a pending value straight into `target`; False when that "
       "is not the same."},
      {"settle", trace_settle, METH_NOARGS, "Emits what is pending into a tile of its own."},
      {}};
  trace_type = made<Trace>(module, "neuron_sim._core.TraceState", of_trace, initialise_trace,
                           properties, methods);
  static PyMemberDef of_instruction[] = {
      object_member<InstructionObject>("method", InstructionObject::kMethod, READONLY), {}};
  instruction_type = made<InstructionObject>(module, "neuron_sim._core.Instruction", of_instruction,
                                             initialise_instruction, nullptr, nullptr,
                                             {Py_tp_call, pointer(call_instruction)});
}

/// The classes of Python: objects of them are made here.
void connect(const nanobind::dict& classes) {
  const auto type = [&](const char* name) {
    return reinterpret_cast<PyTypeObject*>(nanobind::object(classes[name]).release().ptr());
  };
  const auto object = [&](const char* name) {
    return nanobind::object(classes[name]).release().ptr();
  };
  connections = {type("expression"),     type("tensor"),     type("storage"),
                 type("dynamic_slice"),  object("running"),  object("internal_files"),
                 object("is_internal"),  object("place_of"), object("point_at"),
                 object("unrolled_sum"), object("current"),  object("sbuf"),
                 object("psum")};
}

}  // namespace
}  // namespace neuron_sim::tracing

namespace neuron_sim {

void bind_traced_objects(nanobind::module_& module) {
  using namespace tracing;
  PyObject* expression = PyType_FromSpec(&expression_spec);
  if (expression == nullptr) throw nanobind::python_error();
  expression_type = reinterpret_cast<PyTypeObject*>(expression);
  module.attr("IndexExpression") = nanobind::handle(expression);
  bind_loop_and_storage(module);
  bind_tensor(module);
  bind_trace(module);
  static PyMethodDef current_builder_method = {
      "current_builder", current_builder, METH_NOARGS,
      "The builder of the kernel that is being traced, see TraceState.builder."};
  module.attr("current_builder") =
      nanobind::steal(PyCFunction_New(&current_builder_method, nullptr));
  module.def("connect_tracing", &connect, nanobind::arg("classes"),
             "The classes and functions of neuron_sim.nki.tracing that C++ makes objects of.");
}

}  // namespace neuron_sim
