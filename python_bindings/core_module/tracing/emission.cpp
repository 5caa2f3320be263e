// The instructions of a trace: their operands as Views, given to the builder.

#include <nanobind/nanobind.h>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/emitted_calls.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

CallConnections calls{};

namespace {

/// The builder's argument for an operand: the View of a tensor, anything else unchanged.
PyObject* argument_of(PyObject* operand) {
  if (is_tensor(operand)) return access_of(as_tensor(operand));
  if (PyObject_TypeCheck(operand, tensor_type) != 0) {
    return PyObject_GetAttrString(operand, "access");
  }
  return Py_NewRef(operand);
}

/// The instruction again, in parts, when the error is that an operand has no access pattern; false
/// with an error.
bool emit_in_parts(const InstructionObject* instruction, PyObject* dst, PyObject* const* operands,
                   Py_ssize_t count) {
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  const Py_ssize_t first = dst == nullptr ? 0 : 1;
  PyObject* all = PyTuple_New(first + count);
  PyObject* done = nullptr;
  if (all != nullptr) {
    if (dst != nullptr) PyTuple_SET_ITEM(all, 0, Py_NewRef(dst));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyTuple_SET_ITEM(all, first + i, Py_NewRef(operands[i]));
    }
    done = PyObject_CallFunctionObjArgs(connections.split, instruction, all, error, nullptr);
  }
  Py_XDECREF(all);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  Py_XDECREF(done);
  return done != nullptr;
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
  PyObject* result = PyObject_Vectorcall(instruction->field[InstructionObject::kMethod], arguments,
                                         static_cast<size_t>(count), nullptr);
  Py_XDECREF(result);
  return result != nullptr;
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
  PyObject* name = op == Py_None ? nullptr : PyDict_GetItemWithError(calls.operator_names, op);
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

bool emit_instruction(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                      PyObject* const* operands, Py_ssize_t count, PyObject* accumulate) {
  PyObject* arguments[kMostOperands + 3];
  Py_ssize_t filled = 0;
  if (accumulate == nullptr && instruction->accumulate_at >= 0) accumulate = Py_None;
  bool good = count <= kMostOperands || too_many_operands();
  const auto append = [&](PyObject* argument) {
    good = argument != nullptr;
    if (good) arguments[filled++] = argument;
  };
  append(Py_NewRef(trace->field[TraceObject::kBuilder]));
  if (dst != nullptr && good) append(argument_of(dst));
  for (Py_ssize_t i = 0; i < count && good; ++i) {
    if (accumulate != nullptr && filled == instruction->accumulate_at + 1) {
      append(Py_NewRef(accumulate));
    }
    append(argument_of(operands[i]));
  }
  if (good && accumulate != nullptr && filled == instruction->accumulate_at + 1) {
    append(Py_NewRef(accumulate));
  }
  good = good && call_method_of(trace, instruction, arguments, filled);
  for (Py_ssize_t i = 0; i < filled; ++i) Py_DECREF(arguments[i]);
  if (!good && instruction->accumulate_at < 0 &&
      PyErr_ExceptionMatches(connections.not_one_pattern) != 0) {
    return emit_in_parts(instruction, dst, operands, count);
  }
  return good;
}

bool emit_now(const InstructionObject* instruction, PyObject* const* operands, Py_ssize_t count) {
  PyObject* builder = current_builder(nullptr, nullptr);  // settles, and goes to the line
  if (builder == nullptr) return false;
  Py_DECREF(builder);
  TraceObject* trace = running_trace();
  if (trace == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "an instruction is called outside of a trace.");
    return false;
  }
  return emit_instruction(trace, instruction, nullptr, operands, count, nullptr);
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
  PyObject* number = PyLong_FromLongLong(static_cast<long long>(builder->instruction_count()) - 1);
  PyTypeObject* type = calls.handle;
  PyObject* made = number == nullptr ? nullptr : type->tp_alloc(type, 0);
  if (made == nullptr) {
    Py_XDECREF(number);
    return nullptr;
  }
  auto* handle = reinterpret_cast<HandleObject*>(made);
  handle->field[HandleObject::kNumber] = number;
  handle->field[HandleObject::kTrace] = Py_NewRef(&trace->ob_base);
  if (name == Py_None) return made;
  PyObject* done =
      PyObject_CallFunctionObjArgs(calls.name_instruction, trace, name, number, nullptr);
  if (done == nullptr) Py_CLEAR(made);
  Py_XDECREF(done);
  return made;
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
  PyObject* builder = current_builder(nullptr, nullptr);  // settles, and goes to the line
  if (builder == nullptr) return nullptr;
  Py_DECREF(builder);
  if (!emit_instruction(running_trace(), instruction, nullptr, operands, filled, accumulate)) {
    return nullptr;
  }
  return emitted(nullptr, arguments + 1, 1);
}

}  // namespace neuron_sim::tracing
