// Functions of kernels, for the most common kinds of arguments. For any others they return None,
// and the Python functions handle or refuse the call, so that errors are raised in one place.

#include <nanobind/nanobind.h>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// Whether it is a tensor in HBM with at least two dimensions, none of them an index in memory.
bool is_plain_in_hbm(PyObject* object) {
  if (!is_tensor(object)) return false;
  const TensorObject* tensor = as_tensor(object);
  return tensor->view.axis < 0 && !is_absent(tensor->field[TensorObject::kStorage]) &&
         is_absent(tensor->field[TensorObject::kIndex]) && tensor->view.shape.size() >= 2;
}

/// Whether it is a tile in SBUF, or a result that will be one.
bool is_in_sbuf(PyObject* object) {
  if (!is_on_chip(object)) return false;
  if (!is_absent(as_tensor(object)->field[TensorObject::kStorage])) {
    return storage_of(object)->in_psum == 0;
  }
  PyObject* pending = as_tensor(object)->field[TensorObject::kPending];
  return !is_absent(pending) && as_pending(pending)->in_psum == 0;
}

bool is_number(PyObject* object, long number) {
  return PyLong_CheckExact(object) != 0 && PyLong_AsLong(object) == number;
}

/// Whether it is one fp32 number per partition, [P, 1].
bool is_column(PyObject* object) {
  if (!is_tensor(object) || dtype_of(object) != constants.float32) return false;
  return shape_of(object).size() == 2 && shape_of(object)[1] == 1;
}

/// Whether a mask leaves all of a shape: 1, 0, or -1 with an error.
int leaves_all(PyObject* mask, const Sizes& shape) {
  if (mask == Py_None) return 1;
  if (Py_TYPE(mask) != classes.mask) return 0;
  try {
    return boxes_of(mask, shape) ? 0 : 1;
  } catch (...) {
    raised();
    return -1;
  }
}

/// Whether a kernel gives its tiles addresses.
bool is_allocated(const TraceObject* trace) {
  static PyObject* word = PyUnicode_InternFromString("directly");
  const auto tile = nb::steal(PyObject_GetAttr(trace->field[TraceObject::kAllocation], word));
  if (tile.is_valid()) return PyObject_IsTrue(tile.ptr()) != 0;
  PyErr_Clear();
  return true;
}

/// The result in SBUF of an instruction with operands, which are borrowed, on `data`.
template <class... Operands>
PyObject* result_like(TraceObject* trace, PyObject* data, PyObject* instruction,
                      Operands... operands) {
  return deferred(trace, {.shape = shape_of(data),
                          .dtype = dtype_of(data),
                          .emit = instruction,
                          .operands = PyTuple_Pack(sizeof...(operands), operands...)});
}

/// (src, mask): the result of nl.load without a dtype.
PyObject* plain_load(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject* src = arguments[0];
  if (count != 2 || trace == nullptr || !is_plain_in_hbm(src)) Py_RETURN_NONE;
  const int all = leaves_all(arguments[1], shape_of(src));
  if (all < 0) return nullptr;
  const Builder* builder = open_builder(trace->field[TraceObject::kBuilder]);
  if (all == 0 || builder == nullptr || shape_of(src)[0] > builder->limits().partitions) {
    Py_RETURN_NONE;
  }
  return result_like(trace, src, instructions.dma_copy, src);
}

/// (dst, value, mask): nl.store of a tile as it is; True when it is done.
PyObject* plain_store(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject *dst = arguments[0], *value = arguments[1];
  if (count != 3 || trace == nullptr || !is_plain_in_hbm(dst) || !is_in_sbuf(value) ||
      storage_of(dst)->is_mutable == 0 || shape_of(dst) != shape_of(value)) {
    Py_RETURN_NONE;
  }
  if (as_tensor(dst)->view.steps[0] == 1) Py_RETURN_NONE;
  if (arguments[2] == Py_None && PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0) {
    const nb::object repeats = nb::steal(trace_repeats(&trace->ob_base, dst));
    if (!repeats.is_valid()) return nullptr;
    if (repeats.ptr() == Py_True) Py_RETURN_NONE;
  }
  const int all = leaves_all(arguments[2], shape_of(dst));
  if (all < 0) return nullptr;
  if (all == 0) Py_RETURN_NONE;
  storage_of(dst)->written = 1;
  if (!emit_now(reinterpret_cast<InstructionObject*>(instructions.dma_copy), arguments, 2)) {
    return nullptr;
  }
  Py_RETURN_TRUE;
}

/// (stationary, moving, is_stationary_onezero, is_moving_onezero): the product of two tiles.
PyObject* plain_product(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject *stationary = arguments[0], *moving = arguments[1];
  if (count != 4 || trace == nullptr || !is_in_sbuf(stationary) || !is_in_sbuf(moving)) {
    Py_RETURN_NONE;
  }
  const Sizes &rows = shape_of(stationary), &columns = shape_of(moving);
  if (rows.size() != 2 || columns.size() != 2) Py_RETURN_NONE;
  return deferred(
      trace, {.shape = {rows[1], columns[1]},
              .dtype = constants.float32,
              .emit = instructions.nc_matmul,
              .operands = PyTuple_Pack(5, stationary, moving, Py_False, arguments[2], arguments[3]),
              .in_psum = true,
              .accumulates = true});
}

/// (op, data, bias, scale): the activation of a tile; bias and scale are columns or numbers.
PyObject* plain_activation(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject *data = arguments[1], *bias = arguments[2], *scale = arguments[3];
  static PyObject* zero = PyFloat_FromDouble(0);
  if (count != 4 || trace == nullptr || !is_tensor(data) ||
      (PyFloat_CheckExact(scale) == 0 && !is_column(scale)) ||
      (bias == Py_None ? is_allocated(trace) : !is_column(bias))) {
    Py_RETURN_NONE;
  }
  PyObject* name = listed_name(arguments[0]);
  if (name == nullptr) Py_RETURN_NONE;
  return result_like(trace, data, instructions.activation, name, data,
                     bias == Py_None ? zero : bias, scale);
}

bool is_scalar_operand(PyObject* operand) {
  return PyFloat_CheckExact(operand) != 0 ||
         (is_tensor(operand) && dtype_of(operand) == constants.float32);
}

/// (data, op0, operand0, op1, operand1): tensor_scalar; the operands are floats or tiles of fp32.
PyObject* plain_scalar(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject *data = arguments[0], *op1 = arguments[3], *operand1 = arguments[4];
  if (count != 5 || trace == nullptr || !is_tensor(data) || !is_scalar_operand(arguments[2])) {
    Py_RETURN_NONE;
  }
  PyObject* first = listed_name(arguments[1]);
  if (first == nullptr) Py_RETURN_NONE;
  if (op1 == Py_None && operand1 == Py_None) {
    return result_like(trace, data, instructions.tensor_scalar, data, first, arguments[2]);
  }
  PyObject* second = is_scalar_operand(operand1) ? listed_name(op1) : nullptr;
  if (second == nullptr) Py_RETURN_NONE;
  return result_like(trace, data, instructions.tensor_scalar, data, first, arguments[2], Py_False,
                     second, operand1);
}

/// (data1, data2, op): tensor_tensor of tiles of one shape and dtype.
PyObject* plain_pair(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject *a = arguments[0], *b = arguments[1];
  static PyObject* engine = PyUnicode_InternFromString("auto");
  if (count != 3 || trace == nullptr || !is_tensor(a) || !is_tensor(b) ||
      dtype_of(a) != dtype_of(b) || shape_of(a) != shape_of(b)) {
    Py_RETURN_NONE;
  }
  PyObject* name = listed_name(arguments[2]);
  if (name == nullptr) Py_RETURN_NONE;
  return result_like(trace, a, instructions.tensor_tensor, a, b, name, engine);
}

/// (name, x): the activation of that name of a tile.
PyObject* plain_unary(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  if (count != 2 || trace == nullptr || !is_on_chip(arguments[1]) || is_allocated(trace)) {
    Py_RETURN_NONE;
  }
  return result_like(trace, arguments[1], instructions.activation, arguments[0], arguments[1]);
}

/// (src): a copy of a tile.
PyObject* plain_copy(PyObject*, PyObject* src) {
  TraceObject* trace = running_trace();
  if (trace == nullptr || !is_on_chip(src)) Py_RETURN_NONE;
  return result_like(trace, src, instructions.tensor_copy, src);
}

/// (op, x, axis): the reduction of the columns of a tile [P, F].
PyObject* plain_reduction(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  PyObject* x = arguments[1];
  static PyObject* one = PyLong_FromLong(1);
  if (count != 3 || trace == nullptr || !is_on_chip(x) || !is_number(arguments[2], 1) ||
      shape_of(x).size() != 2) {
    Py_RETURN_NONE;
  }
  return deferred(trace, {.shape = {shape_of(x)[0], 1},
                          .dtype = dtype_of(x),
                          .emit = instructions.tensor_reduce,
                          .operands = PyTuple_Pack(3, x, arguments[0], one)});
}

}  // namespace

PyMethodDef plain_calls[] = {
    {"plain_load", fast(slot<plain_load>), METH_FASTCALL, "(src, mask): nl.load without a dtype."},
    {"plain_store", fast(slot<plain_store>), METH_FASTCALL,
     "(dst, value, mask): nl.store of a tile as it is; True when it is done."},
    {"plain_product", fast(slot<plain_product>), METH_FASTCALL,
     "(stationary, moving, is_stationary_onezero, is_moving_onezero): a product in PSUM."},
    {"plain_activation", fast(slot<plain_activation>), METH_FASTCALL, "(op, data, bias, scale)."},
    {"plain_scalar", fast(slot<plain_scalar>), METH_FASTCALL,
     "(data, op0, operand0, op1, operand1)."},
    {"plain_pair", fast(slot<plain_pair>), METH_FASTCALL, "(data1, data2, op)."},
    {"plain_unary", fast(slot<plain_unary>), METH_FASTCALL, "(name, x): an activation."},
    {"plain_copy", slot<plain_copy>, METH_O, "(src): a copy of a tile."},
    {"plain_reduction", fast(slot<plain_reduction>), METH_FASTCALL,
     "(op, x, axis): the columns of a tile reduced."},
    {"emitted", fast(emitted), METH_FASTCALL,
     "(name=None): the handle of the instruction that was emitted last."},
    {"emit_plain", fast(emit_plain), METH_FASTCALL,
     "(instruction, name, kinds, *operands): emits it and returns its handle. `kinds`, a character "
     "per operand: t a tensor, n a float or a tensor, o an operator, f a flag, ? one or None."},
    {}};

}  // namespace neuron_sim::tracing
