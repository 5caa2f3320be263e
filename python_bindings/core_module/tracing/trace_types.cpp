// The types of traces and of their results for Python, and the functions with them.

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/python_parameter.h"
#include "python_bindings/core_module/tracing/bindings.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

Classes classes{};
Connections connections{};
Constants constants{};
Instructions instructions{};
PyObject* running_traces = nullptr;
PyObject* operator_names = nullptr;
PyObject* not_one_pattern = nullptr;
PyTypeObject* loop_type = nullptr;
PyTypeObject* expression_type = nullptr;
PyTypeObject* storage_type = nullptr;
PyTypeObject* tensor_type = nullptr;
PyTypeObject* pending_type = nullptr;
PyTypeObject* trace_type = nullptr;
PyTypeObject* instruction_type = nullptr;

namespace {

int initialise_nothing(PyObject*, PyObject*, PyObject*) { return 0; }

int initialise_trace(PyObject* self, PyObject*, PyObject*) {
  auto* trace = reinterpret_cast<TraceObject*>(self);
  trace->field[TraceObject::kLoops] = nanobind::steal(PyList_New(0));
  trace->field[TraceObject::kScopes] = nanobind::steal(PySet_New(nullptr));
  trace->field[TraceObject::kOpenScopes] = nanobind::steal(PyList_New(0));
  trace->field[TraceObject::kUnshadowed] = nanobind::steal(PySet_New(nullptr));
  if (PyList_GET_SIZE(running_traces) == 0) forget_places();
  return PyErr_Occurred() == nullptr ? 0 : -1;
}

int initialise_instruction(PyObject* self, PyObject* arguments, PyObject*) {
  auto* instruction = reinterpret_cast<InstructionObject*>(self);
  PyObject* method = nullptr;
  instruction->accumulate_at = -1;
  instruction->call = slot<call_instruction>;
  if (PyArg_ParseTuple(arguments, "O|L", &method, &instruction->accumulate_at) == 0) return -1;
  set_field(instruction->field[InstructionObject::kMethod], method);
  const nanobind::object name = nanobind::steal(PyObject_GetAttrString(method, "__name__"));
  if (!name.is_valid()) return -1;
  std::string_view instruction_name;
  if (plain_word(name.ptr(), instruction_name)) {
    instruction->emit_plain = plain_emission(instruction_name);
  }
  return 0;
}

void bind_trace(nanobind::module_& module) {
  using Pending = PendingObject;
  static PyMemberDef of_pending[] = {object_member<Pending>("trace", Pending::kTrace),
                                     object_member<Pending>("tensor", Pending::kTensor),
                                     object_member<Pending>("emit", Pending::kEmit, READONLY),
                                     object_member<Pending>("buffer", Pending::kBuffer),
                                     object_member<Pending>("place", Pending::kPlace),
                                     object_member<Pending>("name", Pending::kName),
                                     {}};
  pending_type =
      made<Pending>(module, "neuron_sim._core.DeferredResult", of_pending, initialise_nothing);
  using Trace = TraceObject;
  static PyMemberDef of_trace[] = {
      object_member<Trace>("_builder", Trace::kBuilder),
      object_member<Trace>("_pending", Trace::kPending, READONLY),
      object_member<Trace>("_line", Trace::kLine),
      object_member<Trace>("loops", Trace::kLoops, READONLY),
      object_member<Trace>("scopes", Trace::kScopes, READONLY),
      object_member<Trace>("open_scopes", Trace::kOpenScopes),
      object_member<Trace>("allocation", Trace::kAllocation),
      object_member<Trace>("_unshadowed", Trace::kUnshadowed, READONLY),
      object_member<Trace>("_parts", Trace::kParts),
      {"uses", T_LONGLONG, offsetof(Trace, uses), 0, nullptr},
      {"widens", T_BOOL, offsetof(Trace, widens), 0, nullptr},
      {"_emitting", T_BOOL, offsetof(Trace, emitting), 0, nullptr},
      {"is_old", T_BOOL, offsetof(Trace, is_old), 0, nullptr},
      {}};
  static PyGetSetDef properties[] = {
      {"builder", slot<trace_builder>, nullptr,
       "The builder, after what is pending was emitted; its source line is the kernel's.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"result", fast(slot<trace_result>), METH_VARARGS | METH_KEYWORDS,
       "A tile that `emit(tensor, *operands)` writes: now if it is used, later if it is "
       "assigned.\n\n`t[...] = result` makes emit write into t (unless `explicit`, the user's "
       "dtype=, is not that of t), `t += result` too when it `accumulates`: emit(t, "
       "accumulate=True). An Instruction as `emit` is called with the access of the tensors."},
      {"plain_tile", fast(slot<plain_tile>), METH_FASTCALL,
       "(shape, dtype, buffer, name): a new tile that is placed automatically, or None."},
      {"_tile", fast(slot<trace_tile>), METH_FASTCALL,
       "(shape, dtype, buffer, name): a new tile of the package's own."},
      {"shared_loop", slot<trace_shared_loop>, METH_O,
       "The innermost affine_range whose iterations all begin with a write to a tensor, or None."},
      {"settle", slot<trace_settle>, METH_NOARGS, "Emits what is pending into a tile of its own."},
      {}};
  trace_type = made<Trace>(module, "neuron_sim._core.TraceState", of_trace, initialise_trace,
                           properties, methods);
  static PyMemberDef of_instruction[] = {
      object_member<InstructionObject>("method", InstructionObject::kMethod, READONLY), {}};
  instruction_type = made<InstructionObject>(module, "neuron_sim._core.Instruction", of_instruction,
                                             initialise_instruction, nullptr, nullptr,
                                             {Py_tp_call, pointer(PyVectorcall_Call)});
  instruction_type->tp_vectorcall_offset = offsetof(InstructionObject, call);
  instruction_type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

/// Frees objects of a class as those of its base: what Python would do in between is only for
/// classes with fields of their own.
void free_as_base(PyTypeObject* type) {
  if (type->tp_basicsize == type->tp_base->tp_basicsize && type->tp_del == nullptr &&
      type->tp_finalize == nullptr) {
    type->tp_dealloc = type->tp_base->tp_dealloc;
  }
}

/// A class of Python whose objects C++ makes from here on where it makes those of its base.
nb::object register_class(const nb::type_object& made) {
  const std::pair<const char*, PyTypeObject**> bases[] = {
      {"IndexExpression", &classes.expression}, {"IndexMask", &classes.mask},
      {"DynamicSlice", &classes.dynamic_slice}, {"TensorStorage", &classes.storage},
      {"TensorPattern", &classes.tensor},       {"InstructionHandle", &classes.handle}};
  auto* type = reinterpret_cast<PyTypeObject*>(made.ptr());
  const nb::module_ module = nb::module_::import_("neuron_sim._core");
  for (const auto& [name, own] : bases) {
    if (type->tp_base != reinterpret_cast<PyTypeObject*>(nb::object(module.attr(name)).ptr())) {
      continue;
    }
    made.inc_ref();  // for as long as the process lives
    *own = type;
    free_as_base(type);
    return made;
  }
  fail("register_class() takes a class that derives from one of neuron_sim._core.",
       ErrorKind::kType);
}

/// Stores what C++ calls and compares with.
void connect(nb::object is_internal, nb::object place_at, nb::object current,
             nb::object masked_result, nb::object unroll, nb::object float32, nb::object sbuf,
             nb::object psum) {
  connections = {is_internal.release().ptr(), place_at.release().ptr(), current.release().ptr(),
                 masked_result.release().ptr(), unroll.release().ptr()};
  constants = {float32.release().ptr(), sbuf.release().ptr(), psum.release().ptr()};
}

/// What Python has from here.
void bind_shared_objects(nb::module_& module) {
  const auto shared = [&](const char* name, nb::object object) {
    module.attr(name) = object;
    return object.release().ptr();
  };
  running_traces = shared("running_traces", nb::list());
  operator_names = shared("operator_names", nb::dict());
  not_one_pattern = shared("NotOnePattern", nb::steal(PyErr_NewExceptionWithDoc(
                                                "neuron_sim._core.NotOnePattern",
                                                "A tensor that no single access pattern describes.",
                                                PyExc_ValueError, nullptr)));
  const auto instruction = [&](const char* name, const char* method, int accumulate_at = -1) {
    const nb::handle type(reinterpret_cast<PyObject*>(instruction_type));
    return shared(name, type(nb::type<Builder>().attr(method), accumulate_at));
  };
  instructions = {
      instruction("ACTIVATION", "activation"),       instruction("DMA_COPY", "dma_copy"),
      instruction("MATMUL", "nc_matmul", 3),         instruction("TENSOR_COPY", "tensor_copy"),
      instruction("TENSOR_REDUCE", "tensor_reduce"), instruction("TENSOR_SCALAR", "tensor_scalar"),
      instruction("TENSOR_TENSOR", "tensor_tensor")};
}

void bind_handle(nanobind::module_& module) {
  using Handle = HandleObject;
  static PyMemberDef members[] = {object_member<Handle>("number", Handle::kNumber),
                                  object_member<Handle>("trace", Handle::kTrace),
                                  {}};
  made<Handle>(module, "neuron_sim._core.InstructionHandle", members, initialise_nothing);
}

}  // namespace
}  // namespace neuron_sim::tracing

namespace neuron_sim {

void bind_traced_objects(nb::module_& module) {
  using namespace tracing;
  bind_expression(module);
  bind_mask(module);
  bind_loop_and_storage(module);
  bind_tensor(module);
  bind_trace(module);
  bind_shared_objects(module);
  bind_handle(module);
  bind_merged(module);
  bind_entry(module);
  static PyMethodDef functions[] = {
      {"current_builder", slot<current_builder>, METH_NOARGS,
       "The builder of the kernel that is being traced, see TraceState.builder."},
      {"boxes", fast(slot<boxes_in>), METH_FASTCALL,
       "(mask, shape): what a mask leaves of a tile: None for all of it, else a list of boxes, "
       "(start, size) per dimension."},
      {"kernel_frame", slot<innermost_frame>, METH_NOARGS,
       "The innermost frame outside of this package; None when there is none."},
      {"place_of", slot<place_of_frame>, METH_O,
       "(line, name, annotation, code, step) of a frame; the same tuple for the same step."}};
  for (PyMethodDef& function : functions) {
    module.attr(function.ml_name) = nanobind::steal(PyCFunction_New(&function, nullptr));
  }
  for (PyMethodDef* each = plain_calls; each->ml_name != nullptr; ++each) {
    module.attr(each->ml_name) = nanobind::steal(PyCFunction_New(each, nullptr));
  }
  module.def("register_class", &register_class, nb::arg("made"),
             "A class derived from one of here: C++ makes its objects. Returns it.");
  module.def("connect_tracing", &connect, nb::kw_only(), nb::arg("is_internal"),
             nb::arg("place_at"), nb::arg("current"), nb::arg("masked_result"), nb::arg("unroll"),
             nb::arg("float32"), nb::arg("sbuf"), nb::arg("psum"),
             "The functions and objects of neuron_sim.nki.tracing that C++ needs.");
}

}  // namespace neuron_sim
