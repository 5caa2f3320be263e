#pragma once
// Functions shared by the structures of structures.h: neuron_sim.nki.tracing derives its
// classes from their types and has everything that is not needed once per instruction.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/base/errors.h"
#include "python_bindings/core_module/tracing/structures.h"

namespace neuron_sim::tracing {

/// The classes of Python whose objects C++ makes: those that `register_class` got last.
struct Classes {
  PyTypeObject *expression, *mask, *storage, *tensor, *handle;
};
extern Classes classes;

/// What C++ calls of neuron_sim.nki.tracing beside methods of its classes; set by
/// `connect_tracing`.
struct Connections {
  PyObject* is_internal;    ///< of a code object: whether it belongs to this package
  PyObject* place_at;       ///< of a frame: (line, name, annotation, code, step)
  PyObject* current;        ///< the trace that runs, or the error that none does
  PyObject* masked_result;  ///< result() of the older language, of all masks and dtypes
  PyObject* unroll;         ///< the exception of loops, by their keys, that are needed as numbers
};
extern Connections connections;

/// Objects of Python that C++ compares with and passes on: a DType, and the buffers of results; set
/// by `connect_tracing`.
struct Constants {
  PyObject *float32, *sbuf, *psum;
};
extern Constants constants;

/// What Python has from here.
extern PyObject* running_traces;   ///< list, the innermost last
extern PyObject* operator_names;   ///< dict: callable -> the builder's name
extern PyObject* not_one_pattern;  ///< the error of an operand that has no access pattern

/// The base types; their Python classes derive from them.
extern PyTypeObject *loop_type, *slice_type, *expression_type, *storage_type, *tensor_type,
    *pending_type, *trace_type, *instruction_type;

/// Objects that someone else holds.
using Objects = std::span<PyObject* const>;
inline Objects span_of(PyObject* tuple) {
  return {&PyTuple_GET_ITEM(tuple, 0), static_cast<size_t>(PyTuple_GET_SIZE(tuple))};
}
/// A tuple of them.
nanobind::object packed(Objects objects);

inline bool is_absent(PyObject* field) { return field == nullptr || field == Py_None; }
/// Replaces a field by a new reference to `value`.
inline void set_field(Owned& field, PyObject* value) { field = nanobind::borrow(value); }
/// Throws the error of Python that is set unless `good`.
inline void must(bool good) {
  if (!good) throw nanobind::python_error();
}
/// TypeError: an argument is not of the type wanted.
[[noreturn]] void wrong_type(const char* argument, const char* wanted, PyObject* given);
/// Sets Python's error from the C++ exception that is being handled. Returns nullptr.
PyObject* raised() noexcept;
/// Raises the exception of loops that are needed as numbers.
void unroll(const LoopsNeeded& needed) noexcept;

// index_expression.cpp
/// The object of which a loop is the value.
inline LoopObject* object_of(const Loop* loop) {
  return static_cast<LoopObject*>(const_cast<Loop*>(loop));
}
inline bool is_expression(PyObject* object) { return Py_TYPE(object) == classes.expression; }
inline const IndexExpression& expression_of(PyObject* object) {
  return *static_cast<ExpressionObject*>(object);
}
/// An int when nothing varies, else an Expression.
nanobind::object object_of(const IndexExpression& value);
nanobind::object object_of(const Position& position);
/// The Position of an int or of an expression, whose dimensions are ignored. Throws python_error.
Position position_of(PyObject* value);
/// The dimension that counts partitions: -1 for None.
inline int axis_of(PyObject* axis) {
  return axis == Py_None ? -1 : static_cast<int>(position_of(axis).constant);
}

// masks.cpp
/// The boxes that a mask, a bool or None leaves of a shape, as boxes(); boxes_in() for Python.
std::optional<std::vector<Box>> boxes_of(PyObject* mask, const Sizes& shape);
PyObject* boxes_in(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

// views.cpp
inline TensorObject* as_tensor(PyObject* object) { return static_cast<TensorObject*>(object); }
inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == classes.tensor; }
inline const Sizes& shape_of(PyObject* tensor) { return as_tensor(tensor)->shape; }
inline PyObject* dtype_of(PyObject* tensor) { return as_tensor(tensor)->dtype; }
/// Bytes of an element of a DType.
inline int64_t itemsize_of(PyObject* dtype) {
  return nanobind::cast<int64_t>(nanobind::handle(dtype).attr("itemsize"));
}
/// Whether it is a tile, or a result that will be one.
inline bool is_on_chip(PyObject* object) {
  return is_tensor(object) && as_tensor(object)->axis >= 0;
}
inline StorageObject* storage_of(PyObject* tensor) {
  return static_cast<StorageObject*>(as_tensor(tensor)->storage.ptr());
}
/// A Tensor, of a storage or null. Throws python_error.
nanobind::object new_tensor(PyObject* storage, PyObject* dtype, const TensorView& view);
/// The view of a tensor, which gets a storage.
const TensorView& view_of(PyObject* tensor);
/// Another view of the storage of a tensor, with the tile of indices that the tensor may have.
nanobind::object tensor_of(PyObject* tensor, const TensorView& view);
/// The bounds of all indices, over all trips of the loops and positions of the tile.
void run_checks(PyObject* tensor);
/// Raises the error that errors.py has for a tensor. Throws python_error.
[[noreturn]] void refuse(PyObject* tensor, const char* reason);
/// Refuses an index that a tile holds, which only the dynamic copies take.
void refuse_dynamic(PyObject* tensor);
nanobind::object row_of(TensorObject& tensor);
/// Methods of a tensor, as types.cpp describes them.
nanobind::object tensor_same_storage(PyObject* self, PyObject* const* fields, Py_ssize_t count);
nanobind::object tensor_derived(PyObject* self, PyObject* const* fields, Py_ssize_t count);
nanobind::object as_column(PyObject* self, PyObject*);
void checked(PyObject* self, PyObject*);
nanobind::object is_same_view(PyObject* self, PyObject* other);
nanobind::object narrow(PyObject* self, PyObject* box);
nanobind::object pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count);

// shapes.cpp: methods of a tensor, as types.cpp describes them.
nanobind::object tensor_reshaped(PyObject* self, PyObject* sizes);
nanobind::object tensor_broadcast_to(PyObject* self, PyObject* sizes);
nanobind::object tensor_with_new_axes(PyObject* self, PyObject* axes);
nanobind::object tensor_without_axis(PyObject* self, PyObject* axis);
nanobind::object tensor_permuted(PyObject* self, PyObject* order);
nanobind::object tensor_reinterpreted(PyObject* self, PyObject* dtype);
nanobind::object tensor_is_contiguous(PyObject* self, PyObject*);

// access.cpp
/// The View of exactly this access pattern, as `Tensor.access`.
nanobind::object access_of(TensorObject* tensor);

// indexing.cpp
nanobind::object subscript(PyObject* self, PyObject* index);
nanobind::object indexed(PyObject* self, PyObject* items);
nanobind::object gathered(PyObject* self, PyObject* items);

// results.cpp
inline TraceObject* as_trace(PyObject* object) { return static_cast<TraceObject*>(object); }
inline PendingObject* as_pending(PyObject* object) { return static_cast<PendingObject*>(object); }
/// Emits the pending result into a new tile.
void settle(TraceObject* trace);
/// Emits the result that `tensor` waits for, if it has no storage yet.
void settle_tensor(PyObject* tensor);
/// Takes the pending result out of the trace.
nanobind::object take_pending(TraceObject* trace);
/// Emits a pending result into `target`, with `accumulate` if it is given. The line, and that of
/// errors, is where the kernel called it.
void emit_pending(TraceObject* trace, const PendingObject* pending, PyObject* target,
                  PyObject* accumulate);
/// The properties of a result, which are borrowed.
struct Result {
  Sizes shape;
  PyObject* dtype;
  PyObject* emit;
  Objects operands{};
  bool in_psum = false;
  bool accumulates = false;
  bool is_explicit = false;
};
/// A tensor that is not written yet, with its pending result. New reference.
PyObject* deferred(TraceObject* trace, const Result& result);
PyObject* trace_result(PyObject* self, PyObject* arguments, PyObject* keywords);
void trace_settle(PyObject* self, PyObject*);
nanobind::object trace_builder(TraceObject& trace);
nanobind::object current_builder(PyObject* module, PyObject*);
/// Sets the builder's source line to that of a place.
void go_to(TraceObject* trace, PyObject* place);
/// The trace has a tile that is placed automatically: not in a kernel with addresses.
void note_tile(TraceObject* trace, PyObject* name);

// assignments.cpp
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);
nanobind::object add_in_place(PyObject* self, PyObject* other);
/// The innermost affine_range whose iterations all begin with a write to `target`, or null.
///
/// Null as well when the body used the tensor before: then it may continue what came before, such
/// as a sum. Tensors made in the body are fresh in each iteration, and so is a tile that the write
/// covers, unless the kernel places it: no iteration sees what another one left in it. The vendor's
/// example of the error writes one block of four (nki.errors, SDK 2.26); a convolution whose loops
/// over the filter load the whole tile of weights again passed its tests on trn1
/// (echen4628/cs149-asst4, 648a0f3).
LoopObject* shared_loop(const TraceObject* trace, PyObject* target);
nanobind::object trace_shared_loop(PyObject* self, PyObject* target);

// tiles.cpp
PyObject* plain_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
PyObject* trace_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
/// Gives a result a tile; `place`: where the kernel makes it, or absent.
void give_tile(TraceObject* trace, PyObject* result, PyObject* buffer, PyObject* name,
               PyObject* place);

// places.cpp
/// The innermost frame of the kernel; empty outside of a kernel.
nanobind::object kernel_frame();
/// The name that a place assigns a tensor of `shape` to, after the checks of annotations and of
/// shadowing; empty when none.
nanobind::object assigned_name(TraceObject* trace, const nanobind::object& frame, PyObject* place,
                               const Sizes& shape);
/// The place of a frame, see connections.place_at. Borrowed.
PyObject* place_of(const nanobind::object& frame);
/// Forgets places that no trace needs, when there are many.
void forget_places();
/// Whether tiles of a place live in the scope that is open, as far as that was asked before.
bool has_open_scope(PyObject* place);
void note_open_scope(PyObject* place);
/// These functions for Python.
PyObject* place_of_frame(PyObject* module, PyObject* frame);
PyObject* innermost_frame(PyObject* module, PyObject*);

// calls.cpp
/// Functions of kernels with the most common kinds of arguments.
extern PyMethodDef plain_calls[];
/// Whether a kernel gives its tiles addresses.
bool is_allocated(const TraceObject* trace);

// emission.cpp
inline constexpr size_t kMostOperands = kMostArguments - 2;  ///< beside dst and `accumulate`
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

void bind_expression(nanobind::module_& module);
void bind_mask(nanobind::module_& module);
void bind_loop_and_storage(nanobind::module_& module);
void bind_tensor(nanobind::module_& module);
void bind_merged(nanobind::module_& module);

/// action(), whose errors get the name of a tensor for kTensorName.
template <class Action>
auto with_name_of(PyObject* tensor, Action action) {
  try {
    return action();
  } catch (const KernelError& error) {
    std::string sentence = error.what();
    const size_t at = sentence.find(kTensorName);
    if (at == std::string::npos) throw;
    const auto name = nanobind::cast<std::string>(nanobind::handle(tensor).attr("name"));
    fail(sentence.replace(at, kTensorName.size(), name), error.kind());
  }
}

}  // namespace neuron_sim::tracing

namespace neuron_sim {

/// Loops, index expressions, tensors and results of a trace; neuron_sim.nki.tracing derives its
/// classes from them.
void bind_traced_objects(nanobind::module_& module);

}  // namespace neuron_sim
