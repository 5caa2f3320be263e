// Results of single instructions: of functions of the older language, and of `+`, `-`, `*`.

#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/integers.h"

namespace neuron_sim::tracing {
namespace {

bool is_in_psum(PyObject* tensor) {
  if (!is_absent(as_tensor(tensor)->field[TensorObject::kStorage])) {
    return storage_of(tensor)->in_psum != 0;
  }
  return as_pending(as_tensor(tensor)->field[TensorObject::kPending])->in_psum != 0;
}

/// Whether y is fp32 [P, 1] next to a wider tile [P, F].
bool is_column_of(PyObject* y, PyObject* x) {
  if (!is_on_chip(y) || dtype_of(y) != constants.float32) return false;
  const Sizes &column = shape_of(y), &wide = shape_of(x);
  return column.size() == 2 && wide.size() == 2 && column[1] == 1 && wide[1] != 1 &&
         column[0] == wide[0];
}

}  // namespace

PyObject* instruction_result(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  if (count < 5 || trace == nullptr || arguments[1] != Py_None || arguments[3] != Py_None) {
    return PyObject_Vectorcall(connections.masked_result, arguments, static_cast<size_t>(count),
                               nullptr);
  }
  PyObject* operands = PyTuple_New(count - 5);
  if (operands == nullptr) return nullptr;
  for (Py_ssize_t i = 5; i < count; ++i) {
    PyTuple_SET_ITEM(operands, i - 5, Py_NewRef(arguments[i]));
  }
  return deferred(trace, {.shape = sizes_of(arguments[0]),
                          .dtype = arguments[2],
                          .emit = arguments[4],
                          .operands = operands});
}

PyObject* plain_binary(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  if (count != 3 || trace == nullptr || !is_on_chip(arguments[1])) Py_RETURN_NONE;
  PyObject *op = arguments[0], *x = arguments[1], *y = arguments[2];
  const bool are_in_psum = is_on_chip(y) && is_in_psum(x) && is_in_psum(y);
  if (PyFloat_CheckExact(y) != 0 || (is_column_of(y, x) && !are_in_psum)) {
    return deferred(trace, {.shape = shape_of(x),
                            .dtype = constants.float32,
                            .emit = instructions.tensor_scalar,
                            .operands = PyTuple_Pack(3, x, op, y)});
  }
  if (!is_on_chip(y) || dtype_of(y) != dtype_of(x) || are_in_psum || shape_of(x) != shape_of(y)) {
    Py_RETURN_NONE;
  }
  return deferred(trace, {.shape = shape_of(x),
                          .dtype = dtype_of(x),
                          .emit = instructions.tensor_tensor,
                          .operands = PyTuple_Pack(3, x, y, op)});
}

}  // namespace neuron_sim::tracing
