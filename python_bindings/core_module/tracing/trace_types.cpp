// The types of traces and of their results for Python, and the functions with them.

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/python_parameter.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

Classes classes{};
Connections connections{};
Constants constants{};
PyObject* running_traces = nullptr;
PyObject* operator_names = nullptr;
PyObject* not_one_pattern = nullptr;
PyTypeObject *loop_type = nullptr, *slice_type = nullptr, *expression_type = nullptr,
             *storage_type = nullptr, *tensor_type = nullptr, *pending_type = nullptr,
             *trace_type = nullptr, *instruction_type = nullptr;

namespace {

int initialise_trace(PyObject* self, PyObject*, PyObject*) {
  TraceObject* trace = as_trace(self);
  for (Owned* each : {&trace->loops, &trace->open_scopes}) *each = nb::list();
  for (Owned* each : {&trace->scopes, &trace->unshadowed}) *each = nb::set();
  if (PyList_GET_SIZE(running_traces) == 0) forget_places();
  return 0;
}

void forget_parts(PyObject* self, PyObject*) {
  const auto dropped = std::move(as_trace(self)->parts);
  as_trace(self)->keys = {};
}

/// Instruction(method, accumulate_at=-1)
int initialise_instruction(PyObject* self, PyObject* arguments, PyObject*) {
  auto* instruction = static_cast<InstructionObject*>(self);
  PyObject* method = nullptr;
  instruction->accumulate_at = -1;
  instruction->call = slot<call_instruction>;
  must(PyArg_ParseTuple(arguments, "O|L", &method, &instruction->accumulate_at) != 0);
  set_field(instruction->method, method);
  const nb::object name = nb::handle(method).attr("__name__");
  std::string_view instruction_name;
  if (plain_word(name.ptr(), instruction_name)) {
    instruction->emit_plain = plain_emission(instruction_name);
  }
  return 0;
}

void bind_trace(nanobind::module_& module) {
  using Pending = PendingObject;
  static PyMemberDef of_pending[] = {member<Pending>("emit", &Pending::emit, READONLY),
                                     member<Pending>("name", &Pending::name),
                                     {}};
  pending_type =
      made_type<Pending>(module, "neuron_sim._core.DeferredResult", {{Py_tp_members, of_pending}});
  using Trace = TraceObject;
  static PyMemberDef of_trace[] = {member<Trace>("_builder", &Trace::builder),
                                   member<Trace>("_line", &Trace::line),
                                   member<Trace>("loops", &Trace::loops, READONLY),
                                   member<Trace>("scopes", &Trace::scopes, READONLY),
                                   member<Trace>("open_scopes", &Trace::open_scopes),
                                   member<Trace>("allocation", &Trace::allocation),
                                   member<Trace>("_unshadowed", &Trace::unshadowed, READONLY),
                                   member<Trace>("uses", &Trace::uses),
                                   member<Trace>("widens", &Trace::widens),
                                   member<Trace>("_emitting", &Trace::emitting),
                                   member<Trace>("is_old", &Trace::is_old),
                                   {}};
  static PyGetSetDef properties[] = {
      property<Trace, trace_builder>(
          "builder",
          "The builder, after what is pending was emitted; its source line is the kernel's."),
      {}};
  static PyMethodDef methods[] = {
      {"result", fast(slot<trace_result>), METH_VARARGS | METH_KEYWORDS,
       "A tile that `emit(tensor, *operands)` writes: now if it is used, later if it is "
       "assigned.\n\n`t[...] = result` makes emit write into t (unless `explicit`, the user's "
       "dtype=, is not that of t), `t += result` too when it `accumulates`: emit(t, "
       "accumulate=True). An Instruction as `emit` is called with the access of the tensors."},
      {"plain_tile", fast(slot<plain_tile>), METH_FASTCALL,
       "(shape, dtype, buffer, name): a new tile that is placed automatically; None when it is not "
       "of that kind."},
      {"_tile", fast(slot<trace_tile>), METH_FASTCALL,
       "(shape, dtype, buffer, name): a new tile of the package's own."},
      {"shared_loop", slot<trace_shared_loop>, METH_O,
       "The innermost affine_range whose iterations all begin with a write to a tensor, or None."},
      {"forget_parts", slot<forget_parts>, METH_NOARGS, "Parts of tensors, which hold the trace."},
      {"settle", slot<trace_settle>, METH_NOARGS, "Emits what is pending into a tile of its own."},
      {}};
  trace_type = made_type<Trace>(module, "neuron_sim._core.TraceState",
                                {{Py_tp_init, pointer(slot<initialise_trace>)},
                                 {Py_tp_members, of_trace},
                                 {Py_tp_getset, properties},
                                 {Py_tp_methods, methods}});
  using Instruction = InstructionObject;
  static PyMemberDef of_instruction[] = {
      member<Instruction>("method", &Instruction::method, READONLY), {}};
  instruction_type = made_type<Instruction>(module, "neuron_sim._core.Instruction",
                                            {{Py_tp_init, pointer(slot<initialise_instruction>)},
                                             {Py_tp_members, of_instruction},
                                             {Py_tp_call, pointer(PyVectorcall_Call)}});
  instruction_type->tp_vectorcall_offset = member<Instruction>("", &Instruction::call).offset;
  instruction_type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  using Handle = HandleObject;
  static PyMemberDef of_handle[] = {
      member<Handle>("number", &Handle::number), member<Handle>("trace", &Handle::trace), {}};
  made_type<Handle>(module, "neuron_sim._core.InstructionHandle", {{Py_tp_members, of_handle}});
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
  const std::pair<const char*, PyTypeObject**> bases[] = {{"IndexExpression", &classes.expression},
                                                          {"IndexMask", &classes.mask},
                                                          {"TensorStorage", &classes.storage},
                                                          {"TensorPattern", &classes.tensor},
                                                          {"InstructionHandle", &classes.handle}};
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
void connect(const nb::kwargs& objects) {
  const std::pair<const char*, PyObject**> places[] = {
      {"is_internal", &connections.is_internal},
      {"place_at", &connections.place_at},
      {"current", &connections.current},
      {"unroll", &connections.unroll},
      {"masked_result", &connections.masked_result},
      {"float32", &constants.float32},
      {"sbuf", &constants.sbuf},
      {"psum", &constants.psum}};
  for (const auto& [name, place] : places) *place = nb::object(objects[name]).release().ptr();
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
  bind_merged(module);
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
  module.def("connect_tracing", &connect, nb::sig("def connect_tracing(**objects: Any) -> None"),
             "The functions and objects of neuron_sim.nki.tracing that C++ needs, by name.");
}

}  // namespace neuron_sim
