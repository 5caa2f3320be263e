// The instructions of a trace: their operands as Views, given to the builder.

#include <nanobind/nanobind.h>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/emitted_calls.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

namespace {

/// The builder's argument for an operand: the View of a tensor, anything else unchanged; none with
/// an error.
nb::object argument_of(PyObject* operand) {
  if (is_tensor(operand)) return nb::steal(access_of(as_tensor(operand)));
  if (PyObject_TypeCheck(operand, tensor_type) != 0) {
    return nb::steal(PyObject_GetAttrString(operand, "access"));
  }
  return nb::borrow(operand);
}

/// The instruction again, in parts, when the error is that an operand has no access pattern; false
/// with an error.
bool emit_in_parts(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                   PyObject* const* operands, Py_ssize_t count) {
  const Raised raised;
  nb::list all;
  if (dst != nullptr) all.append(nb::handle(dst));
  for (Py_ssize_t i = 0; i < count; ++i) all.append(nb::handle(operands[i]));
  PyObject* self = const_cast<PyObject*>(&instruction->ob_base);
  const auto done = nb::steal(PyObject_CallMethod(&trace->ob_base, "_emit_in_parts", "OOO", self,
                                                  nb::tuple(all).ptr(), raised.error.ptr()));
  return done.is_valid();
}

/// Emits a call, of plain arguments, that the trace may have emitted before; false when an argument
/// is of another kind. Throws what the builder refuses.
bool emit_plainly(TraceObject* trace, Builder& builder, const EmittedCalls::Call& call) {
  EmittedCalls* known = EmittedCalls::of(trace);
  if (known == nullptr) return call.instruction->emit_plain(builder, call.arguments, call.count);
  const EmittedCalls::Key key = known->key_of(builder, call);
  if (known->repeat(builder, call, key)) return true;
  if (!call.instruction->emit_plain(builder, call.arguments, call.count)) return false;
  known->keep(call, key);
  return true;
}

/// method(*arguments), of which the first is the builder; false with an error.
bool call_method_of(TraceObject* trace, const InstructionObject* instruction,
                    PyObject* const* arguments, Py_ssize_t count) {
  Builder* builder = instruction->emit_plain == nullptr ? nullptr : open_builder(arguments[0]);
  try {
    if (builder != nullptr && emit_plainly(trace, *builder,
                                           {instruction, trace->field[TraceObject::kLine],
                                            arguments + 1, static_cast<size_t>(count - 1)})) {
      return true;
    }
  } catch (...) {
    raised();
    return false;
  }
  const auto result =
      nb::steal(PyObject_Vectorcall(instruction->field[InstructionObject::kMethod], arguments,
                                    static_cast<size_t>(count), nullptr));
  return result.is_valid();
}

/// An operand of a kind as an Instruction takes it; null without an error for any other: 't' a
/// tensor, 'n' a float or a tensor, 'o' an operator, by its function, 'f' a flag, '?' one or None.
PyObject* plain_operand(PyObject* operand, Py_UCS1 kind) {
  switch (kind) {
    case 't': return is_tensor(operand) ? operand : nullptr;
    case 'n': return is_tensor(operand) || PyFloat_CheckExact(operand) ? operand : nullptr;
    case 'o': return listed_name(operand);
    case '?': return operand == Py_None || PyBool_Check(operand) ? operand : nullptr;
    default: return PyBool_Check(operand) ? operand : nullptr;
  }
}

}  // namespace

PyObject* listed_name(PyObject* op) {
  PyObject* name = op == Py_None ? nullptr : PyDict_GetItemWithError(operator_names, op);
  if (name == nullptr) PyErr_Clear();  // of one that is not hashable
  return name;
}

bool too_many_operands() {
  PyErr_Format(PyExc_TypeError, "an instruction takes at most %zd operands.", kMostOperands);
  return false;
}

Builder* open_builder(PyObject* object) {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(nb::type<Builder>().ptr());
  const bool is_open = Py_TYPE(object) == type && nb::inst_ready(object);
  return is_open ? nb::inst_ptr<Builder>(object) : nullptr;
}

namespace {

/// The arguments of a builder's method.
struct Arguments {
  PyObject* values[kMostOperands + 3];
  Py_ssize_t count = 0;

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    for (Py_ssize_t i = 0; i < count; ++i) nb::handle(values[i]).dec_ref();
  }
  /// Returns false, with an error set, for an invalid argument.
  bool append(nb::object argument) {
    if (!argument.is_valid()) return false;
    values[count++] = argument.release().ptr();
    return true;
  }
};

bool emit_whole(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                PyObject* const* operands, Py_ssize_t count, PyObject* accumulate) {
  if (count > kMostOperands) return too_many_operands();
  if (accumulate == nullptr && instruction->accumulate_at >= 0) accumulate = Py_None;
  Arguments arguments;
  arguments.append(trace->field[TraceObject::kBuilder]);
  if (dst != nullptr && !arguments.append(argument_of(dst))) return false;
  for (Py_ssize_t i = 0; i <= count; ++i) {
    if (accumulate != nullptr && arguments.count == instruction->accumulate_at + 1) {
      arguments.append(nb::borrow(accumulate));
    }
    if (i < count && !arguments.append(argument_of(operands[i]))) return false;
  }
  return call_method_of(trace, instruction, arguments.values, arguments.count);
}

}  // namespace

bool emit_instruction(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                      PyObject* const* operands, Py_ssize_t count, PyObject* accumulate) {
  if (emit_whole(trace, instruction, dst, operands, count, accumulate)) return true;
  if (instruction->accumulate_at >= 0 || PyErr_ExceptionMatches(not_one_pattern) == 0) {
    return false;
  }
  return emit_in_parts(trace, instruction, dst, operands, count);
}

bool emit_now(const InstructionObject* instruction, PyObject* const* operands, Py_ssize_t count,
              PyObject* accumulate) {
  const auto builder = nb::steal(current_builder(nullptr, nullptr));  // settles, goes to the line
  if (!builder.is_valid()) return false;
  return emit_instruction(running_trace(), instruction, nullptr, operands, count, accumulate);
}

PyObject* call_instruction(PyObject* self, PyObject* const* arguments, size_t count, PyObject*) {
  if (!emit_now(reinterpret_cast<InstructionObject*>(self), arguments, PyVectorcall_NARGS(count))) {
    return nullptr;
  }
  Py_RETURN_NONE;
}

PyObject* emitted(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* name = count == 0 ? Py_None : arguments[0];
  TraceObject* trace = running_trace();
  const Builder* builder =
      trace == nullptr ? nullptr : open_builder(trace->field[TraceObject::kBuilder]);
  if (builder == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "an instruction is called outside of a trace.");
    return nullptr;
  }
  const auto number = static_cast<long long>(builder->instruction_count()) - 1;
  nb::object made = nb::steal(classes.handle->tp_alloc(classes.handle, 0));
  if (!made.is_valid()) return nullptr;
  auto* handle = reinterpret_cast<HandleObject*>(made.ptr());
  handle->field[HandleObject::kNumber] = nb::steal(PyLong_FromLongLong(number));
  set_field(handle->field[HandleObject::kTrace], &trace->ob_base);
  if (name == Py_None) return made.release().ptr();
  const auto done = nb::steal(PyObject_CallMethod(&trace->ob_base, "name_instruction", "OO", name,
                                                  handle->field[HandleObject::kNumber].ptr()));
  return done.is_valid() ? made.release().ptr() : nullptr;
}

PyObject* emit_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  constexpr Py_ssize_t kFirst = 3;
  const Py_ssize_t size = count - kFirst;
  if (running_trace() == nullptr || size > kMostOperands ||
      PyUnicode_GET_LENGTH(arguments[2]) < size) {
    Py_RETURN_NONE;
  }
  const auto* instruction = reinterpret_cast<InstructionObject*>(arguments[0]);
  const Py_UCS1* kinds = PyUnicode_1BYTE_DATA(arguments[2]);
  PyObject* operands[kMostOperands];
  Py_ssize_t filled = 0;
  PyObject* accumulate = nullptr;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* operand = plain_operand(arguments[kFirst + i], kinds[i]);
    if (operand == nullptr) Py_RETURN_NONE;
    if (i == instruction->accumulate_at) {
      accumulate = operand;
    } else {
      operands[filled++] = operand;
    }
  }
  if (!emit_now(instruction, operands, filled, accumulate)) return nullptr;
  return emitted(nullptr, arguments + 1, 1);
}

}  // namespace neuron_sim::tracing
