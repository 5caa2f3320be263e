#pragma once
// Instructions as kernels call them: emitted at once, or as results that are not written yet.

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

/// The builder's name of an operator; null without an error when it is not listed. Borrowed.
PyObject* listed_name(PyObject* op);

// calls.cpp
/// Functions of kernels with the most common kinds of arguments; None for others.
extern PyMethodDef plain_calls[];

// emission.cpp
inline constexpr Py_ssize_t kMostOperands = 16;
/// TypeError: more operands than kMostOperands. Returns false.
bool too_many_operands();
/// The builder of a trace; null when Python has ended it.
Builder* open_builder(PyObject* object);
/// method(builder, dst, operands...) with `accumulate` put in at its position; false with an error.
/// `dst`, `accumulate`: may be null.
bool emit_instruction(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                      PyObject* const* operands, Py_ssize_t count, PyObject* accumulate);
/// instruction(*operands) at once, of the trace that runs; false with an error.
bool emit_now(const InstructionObject* instruction, PyObject* const* operands, Py_ssize_t count,
              PyObject* accumulate = nullptr);
PyObject* call_instruction(PyObject* self, PyObject* const* arguments, size_t count,
                           PyObject* names);
/// (name=None): the handle of the instruction that was emitted last.
PyObject* emitted(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
/// (instruction, name, kinds, *operands): emits it at once and returns its handle; None when an
/// operand is not of its kind. `kinds`: those of plain_operand(), a character per operand.
PyObject* emit_plain(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
/// The innermost active trace, or null.
inline TraceObject* running_trace() {
  const Py_ssize_t depth = PyList_GET_SIZE(running_traces);
  return depth == 0 ? nullptr : as_trace(PyList_GET_ITEM(running_traces, depth - 1));
}

}  // namespace neuron_sim::tracing
