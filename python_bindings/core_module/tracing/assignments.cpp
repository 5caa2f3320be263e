// Assignments and sums of results that are not emitted yet: straight into their target.

#include "device/tracing/loop_writes.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// References of a result that only the interpreter's stack and the trace hold. The functions of
/// the language have no names of it, since a debugger may keep the frame of their last call.
constexpr Py_ssize_t kUnshared = 2;

/// The pending result that is `value` and that nobody else holds, or null.
PendingObject* unshared_result(const TraceObject* trace, PyObject* value) {
  PyObject* pending = trace->pending;
  if (is_absent(pending) || as_pending(pending)->tensor != value || Py_REFCNT(value) > kUnshared) {
    return nullptr;
  }
  return as_pending(pending);
}

/// Whether a pending result can be emitted straight into `target` and stay the same.
bool fits(const PendingObject* pending, PyObject* target, PyObject* value) {
  return as_tensor(target)->axis >= 0 && shape_of(target) == shape_of(value) &&
         !(pending->is_explicit && dtype_of(target) != dtype_of(value)) &&
         !(pending->in_psum && !storage_of(target)->in_psum);
}

void check_product(TraceObject* trace, PyObject* storage, bool accumulates) {
  const nb::handle allocation(trace->allocation);
  static PyObject* word = PyUnicode_InternFromString("banks");
  const auto banks = nb::steal(PyObject_GetAttr(allocation.ptr(), word));
  must(banks.is_valid());
  if (PyDict_CheckExact(banks.ptr()) && PyDict_GET_SIZE(banks.ptr()) == 0) return;
  allocation.attr("check_product")(nb::handle(storage), accumulates);
}

/// Emits what is pending into `target`. `accumulate`: of a product, as emit_pending() takes it.
void emit_into(TraceObject* trace, PyObject* target, PyObject* accumulate) {
  const nb::object taken = take_pending(trace);
  PendingObject* pending = as_pending(taken.ptr());
  const nb::object tensor =
      std::move(static_cast<nb::object&>(pending->tensor));  // they reference each other
  if (pending->accumulates) {
    check_product(trace, storage_of(target), accumulate != Py_False);
  }
  emit_pending(trace, pending, target, pending->accumulates ? accumulate : nullptr);
}

/// The common assignments: of a result that is not emitted yet, and of `+=`, which is done already.
/// False for others.
bool assign(PyObject* target, PyObject* value) {
  StorageObject* storage = storage_of(target);
  TraceObject* trace = as_trace(storage->trace);
  if (target == value && is_on_chip(target)) {
    storage->written = 1;
    return true;
  }
  const PendingObject* pending = unshared_result(trace, value);
  if (pending == nullptr || !fits(pending, target, value)) return false;
  storage->written = 1;
  emit_into(trace, target, Py_False);
  return true;
}

/// target += value of a pending matrix product; false for any other.
bool accumulate(PyObject* target, PyObject* value) {
  StorageObject* storage = storage_of(target);
  TraceObject* trace = as_trace(storage->trace);
  const PendingObject* pending = unshared_result(trace, value);
  if (pending == nullptr || !pending->accumulates || !storage->in_psum ||
      shape_of(target) != shape_of(value)) {
    return false;
  }
  access_of(as_tensor(target));  // the scope is checked before anything is emitted
  // The first product into uninitialised memory overwrites it.
  const bool continues = storage->written != 0;
  try {
    emit_into(trace, target, continues ? Py_True : Py_None);
  } catch (...) {
    raised();
    const nb::python_error error;
    if (!continues && error.matches(PyExc_ValueError) && PyList_GET_SIZE(trace->loops) > 0) {
      nb::handle(trace).attr("_unrolled_sum")(error.value());
    }
    throw error;
  }
  return true;
}

}  // namespace

LoopObject* shared_loop(const TraceObject* trace, PyObject* target) {
  PyObject* loops = trace->loops;
  if (!trace->is_old) return nullptr;
  const TensorObject* tensor = as_tensor(target);
  const StorageObject* storage = storage_of(target);
  const bool has_index = !is_absent(tensor->index);
  const bool is_dynamic = has_index || !is_absent(tensor->at_register);
  for (Py_ssize_t i = PyList_GET_SIZE(loops) - 1; i >= 0; --i) {
    auto* loop = static_cast<LoopObject*>(PyList_GET_ITEM(loops, i));
    const LoopWrite write =
        write_in(*loop, *tensor, is_dynamic, {storage->made_at, storage->last_use});
    if (write == LoopWrite::kFresh) return nullptr;
    if (write == LoopWrite::kElsewhere) continue;
    const bool is_whole = !has_index && covers_tile(*tensor, sizes_of(storage->shape));
    return is_whole && !is_allocated(trace) ? nullptr : loop;
  }
  return nullptr;
}

nb::object trace_shared_loop(PyObject* self, PyObject* target) {
  if (PyObject_TypeCheck(target, tensor_type) == 0) wrong_type("target", "a tensor", target);
  settle_tensor(target);
  LoopObject* loop = shared_loop(as_trace(self), target);
  return loop == nullptr ? nb::none() : nb::borrow(loop);
}

int assign_subscript(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) fail("elements of a tensor cannot be deleted.", ErrorKind::kType);
  if (index == Py_Ellipsis) settle_tensor(self);
  const nb::object part =
      index == Py_Ellipsis ? nb::borrow(self) : nb::steal(PyObject_GetItem(self, index));
  PyObject* target = part.ptr();
  must(target != nullptr);
  if (PyObject_TypeCheck(target, tensor_type) == 0) {
    wrong_type("index", "one that selects a tensor", index);
  }
  settle_tensor(target);
  const StorageObject* storage = storage_of(target);
  TraceObject* trace = as_trace(storage->trace);
  const LoopObject* loop = shared_loop(trace, target);
  const long long uses = storage->uses;
  if (!is_tensor(target) || !is_tensor(value) || !assign(target, value)) {
    part.attr("_assign")(nb::handle(value));
  }
  if (loop != nullptr && storage->uses == uses + 1) {  // it is not an operand as well
    nb::handle(trace).attr("_repeated")(nb::handle(loop), part);
  }
  return 0;
}

nb::object add_in_place(PyObject* self, PyObject* other) {
  const bool are_tensors = is_tensor(self) && is_tensor(other);
  if (are_tensors && !is_absent(as_tensor(self)->storage) && accumulate(self, other)) {
    return nb::borrow(self);
  }
  return nb::handle(self).attr("_add_in_place")(nb::handle(other));
}

}  // namespace neuron_sim::tracing
