// The types of traces and of their results for Python, and the functions with them.

#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/python_parameter.h"
#include "python_bindings/core_module/tracing/bindings.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace neuron_sim::tracing {

Connections connections{};
PyTypeObject* loop_type = nullptr;
PyTypeObject* expression_type = nullptr;
PyTypeObject* checks_type = nullptr;
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
  return PyErr_Occurred() == nullptr ? 0 : -1;
}

int initialise_instruction(PyObject* self, PyObject* arguments, PyObject*) {
  auto* instruction = reinterpret_cast<InstructionObject*>(self);
  PyObject* method = nullptr;
  instruction->accumulate_at = -1;
  instruction->call = call_instruction;
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
      {"builder", trace_builder, nullptr,
       "The builder, after what is pending was emitted; its source line is the kernel's.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"result", fast(trace_result), METH_FASTCALL | METH_KEYWORDS,
       "A tile that `emit(tensor, *operands)` writes: now if it is used, later if it is "
       "assigned.\n\n`t[...] = result` makes emit write into t (unless `explicit`, the user's "
       "dtype=, is not that of t), `t += result` too when it `accumulates`: emit(t, "
       "accumulate=True). An Instruction as `emit` is called with the access of the tensors."},
      {"settled_into", fast(trace_settled_into), METH_FASTCALL,
       "(target, value, unshared): emits a pending value straight into `target`; False when that "
       "is not the same."},
      {"plain_tile", fast(plain_tile), METH_FASTCALL,
       "(shape, dtype, buffer, name): a new tile that is placed automatically, or None."},
      {"repeats", trace_repeats, METH_O,
       "Whether the iterations of an affine_range may all write a tensor."},
      {"settle", trace_settle, METH_NOARGS, "Emits what is pending into a tile of its own."},
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

/// Stores the Python classes whose objects are created here.
void connect(const nanobind::dict& classes) {
  const auto type = [&](const char* name) {
    return reinterpret_cast<PyTypeObject*>(nanobind::object(classes[name]).release().ptr());
  };
  const auto object = [&](const char* name) {
    return nanobind::object(classes[name]).release().ptr();
  };
  connections = {type("expression"),       type("tensor"),
                 type("storage"),          type("mask"),
                 type("dynamic_slice"),    object("running"),
                 object("internal_files"), object("is_internal"),
                 object("place_of"),       object("point_at"),
                 object("unrolled_sum"),   object("current"),
                 object("masked_result"),  object("tensor_tensor"),
                 object("tensor_scalar"),  object("float32"),
                 object("sbuf"),           object("psum"),
                 object("unroll"),         object("not_one_pattern"),
                 object("split"),          object("scope_at")};
  for (PyTypeObject* each : {connections.expression, connections.tensor, connections.storage,
                             connections.mask, connections.dynamic_slice}) {
    free_as_base(each);
  }
}

/// Connects the objects that traced calls of instructions use.
void connect_calls(const nanobind::dict& objects) {
  const auto object = [&](const char* name) {
    return nanobind::object(objects[name]).release().ptr();
  };
  calls = {object("dma_copy"),
           object("matmul"),
           object("activation"),
           object("tensor_copy"),
           object("tensor_reduce"),
           object("operator_names"),
           reinterpret_cast<PyTypeObject*>(object("handle")),
           object("name_instruction")};
  free_as_base(calls.handle);
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

void bind_traced_objects(nanobind::module_& module) {
  using namespace tracing;
  bind_expression(module);
  bind_mask(module);
  bind_checks(module);
  bind_loop_and_storage(module);
  bind_tensor(module);
  bind_trace(module);
  bind_handle(module);
  bind_merged(module);
  bind_entry(module);
  static PyMethodDef functions[] = {
      {"current_builder", current_builder, METH_NOARGS,
       "The builder of the kernel that is being traced, see TraceState.builder."},
      {"instruction_result", fast(instruction_result), METH_FASTCALL,
       "(shape, dtype, default, mask, instruction, *operands): a result in SBUF."},
      {"boxes", fast(slot<boxes_in>), METH_FASTCALL,
       "(mask, shape): what a mask leaves of a tile: None for all of it, else a list of boxes, "
       "(start, size) per dimension."},
      {"plain_binary", fast(plain_binary), METH_FASTCALL,
       "(op, x, y): the result for two tiles of the same shape and dtype, or a tile and a float; "
       "None for other operands."}};
  for (PyMethodDef& function : functions) {
    module.attr(function.ml_name) = nanobind::steal(PyCFunction_New(&function, nullptr));
  }
  for (PyMethodDef* each = plain_calls; each->ml_name != nullptr; ++each) {
    module.attr(each->ml_name) = nanobind::steal(PyCFunction_New(each, nullptr));
  }
  module.def("connect_tracing", &connect, nanobind::arg("classes"),
             "The classes and functions of neuron_sim.nki.tracing that C++ makes objects of.");
  module.def("connect_calls", &connect_calls, nanobind::arg("objects"),
             "The objects of neuron_sim.nki.isa that plain calls need.");
}

}  // namespace neuron_sim
