// Results of single instructions: of functions of the older language, and of `+`, `-`, `*`.

#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {
namespace {

/// Whether an operand is a tile, or will be one.
bool is_on_chip(PyObject* operand) {
  return is_tensor(operand) && as_tensor(operand)->field[TensorObject::kAxis] != Py_None;
}

bool is_in_psum(PyObject* tensor) {
  if (!is_absent(as_tensor(tensor)->field[TensorObject::kStorage])) {
    return storage_of(tensor)->in_psum != 0;
  }
  return as_pending(as_tensor(tensor)->field[TensorObject::kPending])->in_psum != 0;
}

/// Whether y is fp32 [P, 1] next to a wider tile [P, F].
bool is_column_of(PyObject* y, PyObject* x) {
  if (!is_on_chip(y) || as_tensor(y)->field[TensorObject::kDtype] != constants.float32) {
    return false;
  }
  PyObject* column = as_tensor(y)->field[TensorObject::kShape];
  PyObject* wide = as_tensor(x)->field[TensorObject::kShape];
  if (PyTuple_CheckExact(column) == 0 || PyTuple_CheckExact(wide) == 0) return false;
  if (PyTuple_GET_SIZE(column) != 2 || PyTuple_GET_SIZE(wide) != 2) return false;
  static PyObject* one = PyLong_FromLong(1);
  return PyTuple_GET_ITEM(column, 1) == one && PyTuple_GET_ITEM(wide, 1) != one &&
         PyObject_RichCompareBool(PyTuple_GET_ITEM(column, 0), PyTuple_GET_ITEM(wide, 0), Py_EQ) ==
             1;
}

}  // namespace

PyObject* instruction_result(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const Py_ssize_t depth = PyList_GET_SIZE(running_traces);
  if (count < 5 || depth == 0 || arguments[1] != Py_None || arguments[3] != Py_None) {
    return PyObject_Vectorcall(connections.masked_result, arguments, static_cast<size_t>(count),
                               nullptr);
  }
  PyObject* operands = PyTuple_New(count - 5);
  if (operands == nullptr) return nullptr;
  for (Py_ssize_t i = 5; i < count; ++i) {
    PyTuple_SET_ITEM(operands, i - 5, Py_NewRef(arguments[i]));
  }
  return deferred(
      as_trace(PyList_GET_ITEM(running_traces, depth - 1)),
      {.shape = arguments[0], .dtype = arguments[2], .emit = arguments[4], .operands = operands});
}

PyObject* plain_binary(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const Py_ssize_t depth = PyList_GET_SIZE(running_traces);
  if (count != 3 || depth == 0 || !is_on_chip(arguments[1])) Py_RETURN_NONE;
  PyObject *op = arguments[0], *x = arguments[1], *y = arguments[2];
  TraceObject* trace = as_trace(PyList_GET_ITEM(running_traces, depth - 1));
  PyObject* shape = as_tensor(x)->field[TensorObject::kShape];
  if (PyFloat_CheckExact(y) != 0) {
    return deferred(trace, {.shape = shape,
                            .dtype = constants.float32,
                            .emit = instructions.tensor_scalar,
                            .operands = PyTuple_Pack(3, x, op, y)});
  }
  PyObject* dtype = as_tensor(x)->field[TensorObject::kDtype];
  if (is_column_of(y, x) && !(is_in_psum(x) && is_in_psum(y))) {
    return deferred(trace, {.shape = shape,
                            .dtype = constants.float32,
                            .emit = instructions.tensor_scalar,
                            .operands = PyTuple_Pack(3, x, op, y)});
  }
  if (!is_on_chip(y) || as_tensor(y)->field[TensorObject::kDtype] != dtype ||
      (is_in_psum(x) && is_in_psum(y)) ||
      PyObject_RichCompareBool(shape, as_tensor(y)->field[TensorObject::kShape], Py_EQ) != 1) {
    Py_RETURN_NONE;
  }
  return deferred(trace, {.shape = shape,
                          .dtype = dtype,
                          .emit = instructions.tensor_tensor,
                          .operands = PyTuple_Pack(3, x, y, op)});
}

}  // namespace neuron_sim::tracing
