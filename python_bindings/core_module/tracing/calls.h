#pragma once
// Instructions as kernels call them: emitted at once, or as results that are not written yet.

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

// calls.cpp
/// Functions of kernels with the most common kinds of arguments.
extern PyMethodDef plain_calls[];
/// Whether a kernel gives its tiles addresses.
bool is_allocated(const TraceObject* trace);

// emission.cpp
inline constexpr size_t kMostOperands = 16;
inline InstructionObject* as_instruction(PyObject* object) {
  return static_cast<InstructionObject*>(object);
}
/// A builder that Python has not ended; null for anything else.
Builder* open_builder(PyObject* object);
/// The builder of a trace. Throws python_error.
Builder& builder_of(const TraceObject* trace);
/// method(builder, dst, operands...) with `accumulate` put in at its position. `dst`, `accumulate`:
/// may be null.
void emit_instruction(TraceObject* trace, const InstructionObject* instruction, PyObject* dst,
                      Objects operands, PyObject* accumulate);
/// instruction(*operands) at once, of the trace that runs.
void emit_now(const InstructionObject* instruction, Objects operands,
              PyObject* accumulate = nullptr);
PyObject* call_instruction(PyObject* self, PyObject* const* arguments, size_t count,
                           PyObject* names);
/// (name=None): the handle of the instruction that was emitted last.
PyObject* emitted(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
/// The innermost active trace, or null.
inline TraceObject* running_trace() {
  const Py_ssize_t depth = PyList_GET_SIZE(running_traces);
  return depth == 0 ? nullptr : as_trace(PyList_GET_ITEM(running_traces, depth - 1));
}

}  // namespace neuron_sim::tracing
