// Functions of kernels, for the most common kinds of arguments; Python functions handle or refuse
// any others, so that errors are raised in one place.

#include <nanobind/nanobind.h>

#include <string_view>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"
#include "python_bindings/core_module/tracing/python_types.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {

bool is_allocated(const TraceObject* trace) {
  static PyObject* word = PyUnicode_InternFromString("directly");
  const auto tile = nb::steal(PyObject_GetAttr(trace->allocation, word));
  must(tile.is_valid());
  return PyObject_IsTrue(tile.ptr()) != 0;
}

namespace {

/// Whether it is a tensor in HBM with at least two dimensions, none of them an index in memory.
bool is_plain_in_hbm(PyObject* object) {
  if (!is_tensor(object)) return false;
  const TensorObject* tensor = as_tensor(object);
  return tensor->axis < 0 && !is_absent(tensor->storage) && is_absent(tensor->index) &&
         tensor->shape.size() >= 2;
}

/// Whether a tile, or a result that will be one, is in PSUM.
bool is_in_psum(PyObject* tensor) {
  if (!is_absent(as_tensor(tensor)->storage)) {
    return storage_of(tensor)->in_psum != 0;
  }
  PyObject* pending = as_tensor(tensor)->pending;
  return is_absent(pending) || as_pending(pending)->in_psum != 0;
}

bool is_in_sbuf(PyObject* object) { return is_on_chip(object) && !is_in_psum(object); }

bool is_matrix(PyObject* tensor) { return shape_of(tensor).size() == 2; }

bool is_float32(PyObject* object) {
  return is_tensor(object) && dtype_of(object) == constants.float32;
}

/// Whether it is one fp32 number per partition, [P, 1].
bool is_column(PyObject* object) {
  return is_float32(object) && is_matrix(object) && shape_of(object)[1] == 1;
}

/// Whether a mask leaves all of a shape.
bool leaves_all(PyObject* mask, const Sizes& shape) {
  return mask == Py_None || (Py_TYPE(mask) == classes.mask && !boxes_of(mask, shape));
}

/// The builder's name of an operator; null when it is not listed. Borrowed.
PyObject* listed_name(PyObject* op) {
  PyObject* name = op == Py_None ? nullptr : PyDict_GetItemWithError(operator_names, op);
  if (name == nullptr) PyErr_Clear();  // of one that is not hashable
  return name;
}

/// Operands as an Instruction takes them, of kinds that a character names each.
struct PlainOperands {
  const TraceObject* trace;
  PyObject* first = nullptr;  ///< tensor
  PyObject* values[kMostOperands];
  size_t count = 0;

  /// Appends an operand; false for one of another kind.
  bool append(PyObject* operand, char kind) {
    if (kind == 'm') return first != nullptr && leaves_all(operand, shape_of(first));
    PyObject* value = of(operand, kind);
    if (value == nullptr || count == kMostOperands) return false;
    if (first == nullptr && is_tensor(value)) first = value;
    values[count++] = value;
    return true;
  }

 private:
  /// Null for an operand of another kind.
  PyObject* of(PyObject* operand, char kind) const {
    static PyObject *zero = PyFloat_FromDouble(0), *one = PyLong_FromLong(1);
    const auto when = [operand](bool is_so) { return is_so ? operand : nullptr; };
    const bool is_float = PyFloat_CheckExact(operand) != 0;
    switch (kind) {
      case 'w': return operand;
      case 'o': return listed_name(operand);
      case 'f': return when(PyBool_Check(operand));
      case '?': return when(operand == Py_None || PyBool_Check(operand));
      case '1': return when(operand == one);
      case 't': return when(is_tensor(operand));
      case 'x': return when(is_on_chip(operand));
      case 'r': return when(is_on_chip(operand) && is_matrix(operand));
      case 'k': return when(is_in_sbuf(operand) && is_matrix(operand));
      case 'l':
        return when(is_tensor(operand) && first != nullptr &&
                    dtype_of(operand) == dtype_of(first) && shape_of(operand) == shape_of(first));
      case 'n': return when(is_float || is_tensor(operand));
      case 's': return when(is_float || is_float32(operand));
      case 'c': return when(is_float || is_column(operand));
      case 'b':
        if (operand == Py_None) return is_allocated(trace) ? nullptr : zero;
        return when(is_column(operand));
      case 'h':
        return when(is_plain_in_hbm(operand) &&
                    shape_of(operand)[0] <= builder_of(trace).limits().partitions);
      default: return nullptr;
    }
  }
};

/// TypeError for a call without the arguments that it always has.
void check_arguments(bool are_right) {
  if (!are_right) fail("a plain call takes what its docstring lists.", ErrorKind::kType);
}

/// The kinds, in arguments[place], of operands of arguments[0], an instruction.
std::string_view kinds_of(PyObject* const* arguments, Py_ssize_t count, size_t place) {
  check_arguments(count >= 3 && Py_TYPE(arguments[0]) == instruction_type &&
                  PyUnicode_Check(arguments[place]) && PyUnicode_IS_ASCII(arguments[place]));
  return {reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(arguments[place])),
          static_cast<size_t>(PyUnicode_GET_LENGTH(arguments[place]))};
}

/// The result of an instruction with operands of its kinds.
PyObject* result_of(TraceObject* trace, PyObject* instruction, std::string_view kinds,
                    const PlainOperands& operands) {
  Result result{.shape = shape_of(operands.first),
                .dtype = dtype_of(operands.first),
                .emit = instruction,
                .operands = {operands.values, operands.count}};
  if (kinds.front() == 'r') result.shape[1] = 1;
  if (as_instruction(instruction)->accumulate_at >= 0) {  // of a product
    result.shape = {result.shape[1], shape_of(operands.values[1])[1]};
    result.dtype = constants.float32;
    result.in_psum = result.accumulates = true;
  }
  return deferred(trace, result);
}

/// (instruction, kinds, otherwise, *operands)
PyObject* plain_result(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const std::string_view kinds = kinds_of(arguments, count, 1);
  const Objects given{arguments + 3, static_cast<size_t>(count - 3)};
  check_arguments(kinds.size() <= given.size());
  TraceObject* trace = running_trace();
  PlainOperands operands{.trace = trace};
  bool is_plain = trace != nullptr;
  for (size_t i = 0; is_plain && i < kinds.size(); ++i) {
    is_plain = operands.append(given[i], kinds[i]);
  }
  if (is_plain && operands.first != nullptr) {
    return result_of(trace, arguments[0], kinds, operands);
  }
  return PyObject_Vectorcall(arguments[2], given.data(), given.size(), nullptr);
}

/// (tensor_scalar, tensor_tensor, op, x, y, otherwise)
PyObject* plain_binary(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  check_arguments(count == 6);
  TraceObject* trace = running_trace();
  PyObject *op = arguments[2], *x = arguments[3], *y = arguments[4];
  if (trace != nullptr && is_on_chip(x)) {
    const bool are_in_psum = is_on_chip(y) && is_in_psum(x) && is_in_psum(y);
    const bool is_column_of_x = is_on_chip(y) && is_column(y) && is_matrix(x) &&
                                shape_of(x)[1] != 1 && shape_of(x)[0] == shape_of(y)[0];
    if (PyFloat_CheckExact(y) != 0 || (is_column_of_x && !are_in_psum)) {
      PyObject* operands[] = {x, op, y};
      return deferred(trace, {.shape = shape_of(x),
                              .dtype = constants.float32,
                              .emit = arguments[0],
                              .operands = operands});
    }
    if (is_on_chip(y) && dtype_of(y) == dtype_of(x) && !are_in_psum && shape_of(x) == shape_of(y)) {
      PyObject* operands[] = {x, y, op};
      return deferred(
          trace,
          {.shape = shape_of(x), .dtype = dtype_of(x), .emit = arguments[1], .operands = operands});
    }
  }
  return PyObject_Vectorcall(arguments[5], arguments + 2, 3, nullptr);
}

/// (dma_copy, dst, value, mask, otherwise)
PyObject* plain_store(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  check_arguments(count == 5 && Py_TYPE(arguments[0]) == instruction_type);
  const TraceObject* trace = running_trace();
  PyObject *dst = arguments[1], *value = arguments[2], *mask = arguments[3];
  if (trace == nullptr || !is_plain_in_hbm(dst) || !is_in_sbuf(value) ||
      storage_of(dst)->is_mutable == 0 || shape_of(dst) != shape_of(value) ||
      as_tensor(dst)->steps[0] == 1 || (mask == Py_None && shared_loop(trace, dst) != nullptr) ||
      !leaves_all(mask, shape_of(dst))) {
    return PyObject_Vectorcall(arguments[4], arguments + 1, 3, nullptr);
  }
  storage_of(dst)->written = 1;
  emit_now(as_instruction(arguments[0]), {arguments + 1, 2});
  Py_RETURN_NONE;
}

/// (instruction, name, kinds, *operands)
PyObject* emit_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  const std::string_view kinds = kinds_of(arguments, count, 2);
  const Objects given{arguments + 3, static_cast<size_t>(count - 3)};
  const auto* instruction = as_instruction(arguments[0]);
  PlainOperands operands{.trace = running_trace()};
  PyObject* accumulate = nullptr;
  if (operands.trace == nullptr) Py_RETURN_NONE;
  if (given.size() > kinds.size()) Py_RETURN_NONE;
  for (size_t i = 0; i < given.size(); ++i) {
    if (!operands.append(given[i], kinds[i])) Py_RETURN_NONE;
    if (static_cast<Py_ssize_t>(i) == instruction->accumulate_at)
      accumulate = operands.values[--operands.count];
  }
  emit_now(instruction, {operands.values, operands.count}, accumulate);
  return emitted(nullptr, arguments + 1, 1);
}

/// instruction_result(shape, dtype, default, mask, instruction, *operands)
PyObject* instruction_result(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  TraceObject* trace = running_trace();
  if (count < 5 || trace == nullptr || arguments[1] != Py_None || arguments[3] != Py_None) {
    return PyObject_Vectorcall(connections.masked_result, arguments, static_cast<size_t>(count),
                               nullptr);
  }
  return deferred(trace, {.shape = sizes_of(arguments[0]),
                          .dtype = arguments[2],
                          .emit = arguments[4],
                          .operands = {arguments + 5, static_cast<size_t>(count - 5)}});
}

}  // namespace

PyMethodDef plain_calls[] = {
    {"plain_result", fast(slot<plain_result>), METH_FASTCALL,
     "(instruction, kinds, otherwise, *operands): the result of an Instruction, like its first "
     "tensor or in PSUM; otherwise(*operands) when one is not of its kind. `kinds`, a character "
     "per operand of the instruction: t a tensor, x a tile, r a tile [P, F] that is reduced, k one "
     "in SBUF, l one "
     "like the first, h a tensor in HBM, n a float or a tensor, s a float or a tensor of fp32, c a "
     "float or a column, b a column or None for 0, o an operator, w a word, f a flag, ? one or "
     "None, 1 that number, m a mask that leaves all of the first tensor."},
    {"emit_plain", fast(slot<emit_plain>), METH_FASTCALL,
     "(instruction, name, kinds, *operands): emits it and returns its handle; None when an operand "
     "is not of its kind."},
    {"emitted", fast(slot<emitted>), METH_FASTCALL,
     "(name=None): the handle of the instruction that was emitted last."},
    {"plain_binary", fast(slot<plain_binary>), METH_FASTCALL,
     "(tensor_scalar, tensor_tensor, op, x, y, otherwise): the result for two tiles of the same "
     "shape and dtype, or a tile and a float; otherwise(op, x, y) for other operands."},
    {"plain_store", fast(slot<plain_store>), METH_FASTCALL,
     "(dma_copy, dst, value, mask, otherwise): nl.store of a tile as it is; otherwise(dst, value, "
     "mask)."},
    {"instruction_result", fast(slot<instruction_result>), METH_FASTCALL,
     "(shape, dtype, default, mask, instruction, *operands): a result in SBUF."},
    {}};

}  // namespace neuron_sim::tracing
