// Assignments and sums of results that are not emitted yet: straight into their target.

#include <algorithm>

#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// References of a result that only the interpreter's stack and the trace hold. The functions of
/// the language delete their own names of it, since a debugger may keep the frame of its last call.
constexpr Py_ssize_t kUnshared = 2;

/// Whether `value` is the pending result that nobody else holds.
PendingObject* unshared_result(const TraceObject* trace, PyObject* value) {
  PyObject* pending = trace->field[TraceObject::kPending];
  if (is_absent(pending) || as_pending(pending)->field[PendingObject::kTensor] != value ||
      Py_REFCNT(value) > kUnshared) {
    return nullptr;
  }
  return as_pending(pending);
}

/// Whether a pending result can be emitted straight into `target` and stay the same.
bool fits(const PendingObject* pending, PyObject* target, PyObject* value) {
  const TensorObject* to = as_tensor(target);
  const TensorObject* from = as_tensor(value);
  using Field = TensorObject;
  return to->view.axis >= 0 && to->view.shape == from->view.shape &&
         !(pending->is_explicit && to->field[Field::kDtype] != from->field[Field::kDtype]) &&
         !(pending->in_psum && !storage_of(target)->in_psum);
}

bool check_product(TraceObject* trace, PyObject* storage, bool accumulates) {
  PyObject* allocation = trace->field[TraceObject::kAllocation];
  static PyObject* word = PyUnicode_InternFromString("banks");
  const auto banks = nb::steal(PyObject_GetAttr(allocation, word));
  if (!banks.is_valid()) return false;
  if (PyDict_CheckExact(banks.ptr()) && PyDict_GET_SIZE(banks.ptr()) == 0) return true;
  const auto done = nb::steal(PyObject_CallMethod(allocation, "check_product", "OO", storage,
                                                  accumulates ? Py_True : Py_False));
  return done.is_valid();
}

bool depends_on(const Position& address, const LoopObject* loop) {
  return std::any_of(address.terms.begin(), address.terms.end(),
                     [&](const Term& term) { return term.loop == &loop->loop; });
}

/// Whether neuron_sim.nki.tracing.dependences must check a write to `target`.
bool is_suspicious(const TraceObject* trace, PyObject* target) {
  PyObject* loops = trace->field[TraceObject::kLoops];
  if (!trace->is_old) return false;
  const TensorObject* tensor = as_tensor(target);
  const StorageObject* storage = storage_of(target);
  for (Py_ssize_t i = PyList_GET_SIZE(loops) - 1; i >= 0; --i) {
    const auto* loop = reinterpret_cast<LoopObject*>(PyList_GET_ITEM(loops, i));
    if (storage->made_at >= loop->opened_at || storage->last_use > loop->opened_at) return false;
    const bool is_affine =
        PyUnicode_CompareWithASCIIString(loop->field[LoopObject::kKind], "affine") == 0;
    if (is_affine && !depends_on(tensor->view.start, loop) &&
        !depends_on(tensor->view.partition, loop)) {
      return true;
    }
  }
  return false;
}

/// Emits what is pending into `target`; false with an error. `accumulate`: of a product, as
/// emit_pending() takes it.
bool emit_into(TraceObject* trace, PyObject* target, PyObject* accumulate) {
  const nb::object taken = take_pending(trace);
  PendingObject* pending = as_pending(taken.ptr());
  const bool good = !pending->accumulates ||
                    check_product(trace, &storage_of(target)->ob_base, accumulate != Py_False);
  const bool is_emitted =
      good && emit_pending(trace, pending, target, pending->accumulates ? accumulate : nullptr);
  set_field(pending->field[PendingObject::kTensor], nullptr);  // they reference each other
  return is_emitted;
}

enum class Done { kYes, kNo, kError };

/// The common assignments: of a result that is not emitted yet, and of `+=`, which is done already.
Done assign(PyObject* target, PyObject* value) {
  StorageObject* storage = storage_of(target);
  TraceObject* trace = as_trace(storage->field[StorageObject::kTrace]);
  if (target == value && is_on_chip(target)) {
    storage->written = 1;
    return Done::kYes;
  }
  const PendingObject* found = unshared_result(trace, value);
  if (found == nullptr || !fits(found, target, value) || is_suspicious(trace, target)) {
    return Done::kNo;
  }
  storage->written = 1;
  return emit_into(trace, target, Py_False) ? Done::kYes : Done::kError;
}

/// target += value of a pending matrix product.
Done accumulate(PyObject* target, PyObject* value) {
  StorageObject* storage = storage_of(target);
  TraceObject* trace = as_trace(storage->field[StorageObject::kTrace]);
  const PendingObject* found = unshared_result(trace, value);
  if (found == nullptr || !found->accumulates || !storage->in_psum ||
      shape_of(target) != shape_of(value)) {
    return Done::kNo;
  }
  // The scope is checked before anything is emitted.
  if (!nb::steal(access_of(as_tensor(target))).is_valid()) return Done::kError;
  // The first product into uninitialised memory overwrites it.
  const bool continues = storage->written != 0;
  if (emit_into(trace, target, continues ? Py_True : Py_None)) return Done::kYes;
  if (!continues && PyErr_ExceptionMatches(PyExc_ValueError) != 0 &&
      PyList_GET_SIZE(trace->field[TraceObject::kLoops]) > 0) {
    Raised raised;
    const auto none = nb::steal(call_method(&trace->ob_base, "_unrolled_sum", raised.error.ptr()));
    if (none.is_valid()) raised.restore();
  }
  return Done::kError;
}

}  // namespace

PyObject* trace_repeats(PyObject* self, PyObject* target) {
  if (PyObject_TypeCheck(target, tensor_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "repeats() takes a tensor.");
    return nullptr;
  }
  if (!settle_tensor(target)) return nullptr;
  return PyBool_FromLong(is_suspicious(as_trace(self), target) ? 1 : 0);
}

PyObject* trace_settled_into(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 3 || PyObject_TypeCheck(arguments[0], tensor_type) == 0 ||
      PyObject_TypeCheck(arguments[1], tensor_type) == 0) {
    PyErr_SetString(PyExc_TypeError, "settled_into() takes two tensors and a bool.");
    return nullptr;
  }
  TraceObject* trace = as_trace(self);
  PyObject* pending = trace->field[TraceObject::kPending];
  if (is_absent(pending) || is_absent(as_tensor(arguments[0])->field[TensorObject::kStorage]) ||
      as_pending(pending)->field[PendingObject::kTensor] != arguments[1] ||
      arguments[2] != Py_True || !fits(as_pending(pending), arguments[0], arguments[1])) {
    Py_RETURN_FALSE;
  }
  storage_of(arguments[0])->written = 1;
  if (!emit_into(trace, arguments[0], Py_False)) return nullptr;
  Py_RETURN_TRUE;
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "elements of a tensor cannot be deleted.");
    return -1;
  }
  if (index == Py_Ellipsis && !settle_tensor(self)) return -1;
  const nb::object part =
      index == Py_Ellipsis ? nb::borrow(self) : nb::steal(PyObject_GetItem(self, index));
  PyObject* target = part.ptr();
  if (target == nullptr) return -1;
  if (PyObject_TypeCheck(target, tensor_type) == 0) {
    return wrong_type("index", "one that selects a tensor", index), -1;
  }
  if (!settle_tensor(target)) return -1;
  Done done = is_tensor(target) && is_tensor(value) ? assign(target, value) : Done::kNo;
  if (done == Done::kNo) {
    PyObject* trace = storage_of(target)->field[StorageObject::kTrace];
    const auto result = nb::steal(PyObject_CallMethod(
        trace, "assign", "OOO", target, value, Py_REFCNT(value) <= kUnshared ? Py_True : Py_False));
    done = result.is_valid() ? Done::kYes : Done::kError;
  }
  return done == Done::kYes ? 0 : -1;
}

PyObject* add_in_place(PyObject* self, PyObject* other) {
  if (is_tensor(self) && is_tensor(other) &&
      !is_absent(as_tensor(self)->field[TensorObject::kStorage])) {
    switch (accumulate(self, other)) {
      case Done::kYes: return Py_NewRef(self);
      case Done::kError: return nullptr;
      case Done::kNo: break;
    }
  }
  return call_method(self, "_add_in_place", other);
}

}  // namespace neuron_sim::tracing
