#pragma once
// Functions shared by the structures of structures.h: neuron_sim.nki.tracing derives its
// classes from their types and has everything that is not needed once per instruction.

#include <exception>
#include <type_traits>
#include <vector>

#include "python_bindings/core_module/tracing/structures.h"

namespace neuron_sim::tracing {

/// The Python classes and functions that the C structures need; set once by `connect`.
struct Connections {
  PyTypeObject* expression;     ///< Expression
  PyTypeObject* tensor;         ///< Tensor
  PyTypeObject* storage;        ///< Storage
  PyTypeObject* mask;           ///< Mask
  PyTypeObject* dynamic_slice;  ///< nl.ds: attributes start and size
  PyObject* running;            ///< list of the traces that run, the innermost last
  PyObject* internal_files;     ///< dict: file name -> whether it belongs to this package
  PyObject* is_internal;        ///< of a code object whose file is in no entry
  PyObject* place_of;           ///< of a frame: (line, name, annotation, code, step)
  PyObject* point_at;           ///< (error, place): adds the kernel's line to an error
  PyObject* unrolled_sum;       ///< (trace, error): raises what a first product's error means
  PyObject* current;            ///< the trace that runs, or the error that none does
  PyObject* masked_result;      ///< result() of the older language, of all masks and dtypes
  PyObject* tensor_tensor;      ///< Instruction of two tiles
  PyObject* tensor_scalar;      ///< Instruction of a tile and a number
  PyObject* float32;            ///< the DType
  PyObject* sbuf;               ///< the buffer of results in SBUF
  PyObject* psum;               ///< the buffer of results in PSUM
  PyObject* refusal;            ///< (reason, ...): the error of refusals.py
  PyObject* not_one_pattern;    ///< the error of an operand that has no access pattern
  PyObject* split;              ///< (instruction, operands, that error): emits it in parts
  PyObject* scope_at;           ///< (scope, place): the scope of a tile made there, see scope_at
};
extern Connections connections;

/// The base types; their Python classes derive from them.
extern PyTypeObject* loop_type;
extern PyTypeObject* expression_type;
extern PyTypeObject* storage_type;
extern PyTypeObject* tensor_type;
extern PyTypeObject* pending_type;
extern PyTypeObject* trace_type;
extern PyTypeObject* instruction_type;

// index_arithmetic.cpp, index_comparison.cpp
PyObject* sum_of(PyObject* a, PyObject* b);
PyObject* difference_of(PyObject* a, PyObject* b);
PyObject* product_of(PyObject* a, PyObject* b);
PyObject* negative_of(PyObject* expression);
/// Comparisons: a Mask, or a bool when both sides are the same up to a constant.
PyObject* compare(PyObject* self, PyObject* other, int operation);
PyObject* quotient_of(PyObject* a, PyObject* b);
PyObject* remainder_of(PyObject* a, PyObject* b);
PyObject* divmod_of(PyObject* a, PyObject* b);
/// Quotient (rounded down) and remainder of an expression, new references or null. They are affine
/// where the divisor, which is not 0, divides all coefficients or the quotient is the same number
/// everywhere; false with an error.
bool divide(PyObject* self, int64_t divisor, PyObject*& quotient, PyObject*& remainder);
/// self * factor + constant: an int when nothing varies, as every result. New reference.
PyObject* scaled(const ExpressionObject* self, int64_t factor, int64_t constant);
/// An expression of no terms and no dimensions, to be filled. New reference.
ExpressionObject* new_expression();
/// Finishes a new expression: its terms own their loops from here on, and one that is a
/// plain number becomes an int.
PyObject* finished(ExpressionObject* made, bool is_good);
/// Broadcasts a shape with another one, in place; false with an error.
bool broadcast(int64_t* shape, int& rank, const int64_t* other, int other_rank);
/// The step of dimension j where all indices together have `size` positions along it: one position
/// is repeated.
inline int64_t step_in(const ExpressionObject* expression, int j, int64_t size) {
  return expression->shape[j] == 1 && size != 1 ? 0 : expression->steps[j];
}
/// ValueError: more than kMaximumTerms loop variables. Returns false.
bool too_many_terms();
inline ExpressionObject* as_expression(PyObject* object) {
  return reinterpret_cast<ExpressionObject*>(object);
}
inline bool is_expression(PyObject* object) { return Py_TYPE(object) == connections.expression; }
/// sum += a * factor; false with an error on 64-bit overflow.
bool add_product(int64_t& sum, int64_t a, int64_t factor);
/// sum += a * factor, saturating at the largest or smallest 64-bit number: for bounds.
void add_saturated(int64_t& sum, int64_t a, int64_t factor);
/// The Position of an int or of an expression, whose dimensions are ignored; false with an error.
bool read_position(PyObject* value, Position& position);
/// position += factor * other; false on 64-bit overflow or above kMaximumTerms.
bool add_scaled(Position& position, const Position& other, int64_t factor);
/// An int, or an Expression when loop variables are left. New reference.
PyObject* position_object(const Position& position);
/// Smallest and largest value over all trips of the loops.
void bounds_of(const Position& position, int64_t& low, int64_t& high);
/// Smallest and largest value over all trips, and over all positions of an expression's dimensions.
void bounds_of(const ExpressionObject* expression, int64_t& low, int64_t& high);

// types.cpp
void bind_loop_and_storage(nanobind::module_& module);
void bind_tensor(nanobind::module_& module);

// fields.cpp
inline TensorObject* as_tensor(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == connections.tensor; }
inline bool is_absent(PyObject* field) { return field == nullptr || field == Py_None; }
/// A Tensor of these fields, which are borrowed. New reference.
TensorObject* new_tensor(PyObject* storage, PyObject* shape, PyObject* dtype, PyObject* steps,
                         PyObject* axis, PyObject* partition, PyObject* start);
/// The pattern of a tensor, which has a storage; false with an error.
bool read_pattern(TensorObject* tensor, Pattern& pattern);
/// Another pattern on the storage of a tensor, whose indices are not checked yet. New reference.
/// `old`: the tensor's own pattern, if it is known.
PyObject* same_storage(PyObject* tensor, const Pattern& pattern, const Pattern* old = nullptr);
/// Another pattern on the storage of a tensor; what was indexed before is checked now. New
/// reference.
PyObject* derived(PyObject* tensor, const Pattern& pattern);
/// Both for Python, of the fields shape, steps, axis, partition and start.
PyObject* tensor_same_storage(PyObject* self, PyObject* const* fields, Py_ssize_t count);
PyObject* tensor_derived(PyObject* self, PyObject* const* fields, Py_ssize_t count);

// access.cpp
/// The View of exactly this access pattern, as `Tensor.access`. New reference.
PyObject* access_of(TensorObject* tensor);
/// The Affine of an IndexExpression.
PyObject* affine_of(PyObject* expression, void*);
void bind_merged(nanobind::module_& module);
void bind_entry(nanobind::module_& module);

// indexing.cpp
PyObject* subscript(PyObject* self, PyObject* index);
/// tensor[items] of ints, slices, nl.ds, `...`, None or index expressions.
PyObject* indexed(PyObject* self, PyObject* items);

// index_tensors.cpp
/// What one dimension of a tensor is indexed with: start + sum of step * position in a dimension.
struct IndexedDimension {
  Position start;
  nanobind::dict steps;  ///< dimension of the result -> step
};

/// The indices of one subscript on their way to a pattern.
struct Indexing {
  PyObject* tensor;
  Pattern old, made;
  nanobind::object checks;  ///< a list: of bounds that do not hold yet
  /// By dimension of `tensor`, when it has checks, which the result inherits.
  std::vector<IndexedDimension> dimensions;

  /// Starts the subscript of a tensor; false with an error.
  bool begin(PyObject* of);
  /// Notes what the next dimension of the tensor is indexed with.
  void note(const Position& start, const nanobind::dict& steps);
  /// Notes one dimension of the result, or none when that is negative.
  void note(const Position& start, int along, int64_t step);

  /// Notes that start + sum of step * position has to be below the size of a dimension.
  void add_check(int dimension, const Position& start, const nanobind::dict& steps);
  /// The tensor that is made. New reference.
  PyObject* result();
};
/// Index expressions of arange, and ints; false with an error.
bool apply_index_tensors(Indexing& indexing, PyObject* const* items, int count);
/// tensor.gathered(items): index expressions and ints alone.
PyObject* gathered(PyObject* self, PyObject* items);

// patterns.cpp
/// Tensor.pattern([[step, size], ...], offset): ap() of a tensor of the dtype of the steps.
PyObject* pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
/// pattern_of(), or the pattern that was made before of the same numbers, which nobody changes.
PyObject* shared_pattern_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
/// Elements of a partition of the storage in the dtype of a tensor.
PyObject* row_of(PyObject* self, void*);

// masks.cpp
/// boxes(mask, shape): the parts of a tile that a mask leaves.
PyObject* boxes(PyObject* module, PyObject* const* arguments, Py_ssize_t count);

// narrowing.cpp
/// The checks of a tensor that do not hold for a result of `indexing`, which become the result's;
/// false with an error.
bool inherit_checks(Indexing& indexing);
/// Tensor.narrow(box).
PyObject* narrow(PyObject* self, PyObject* ranges);
/// The bounds of all indices, over all trips of the loops and positions of the tile.
bool run_checks(PyObject* tensor);
PyObject* checked(PyObject* self, PyObject*);

// results.cpp
inline TraceObject* as_trace(PyObject* object) { return reinterpret_cast<TraceObject*>(object); }
inline PendingObject* as_pending(PyObject* object) {
  return reinterpret_cast<PendingObject*>(object);
}
inline StorageObject* storage_of(PyObject* tensor) {
  return reinterpret_cast<StorageObject*>(as_tensor(tensor)->field[TensorObject::kStorage]);
}
/// Emits the pending result into a new tile; false with an error.
bool settle(TraceObject* trace);
/// Emits the result that `tensor` waits for, if it has no storage yet; false with an error.
bool settle_tensor(PyObject* tensor);
/// Takes the pending result out of the trace. New reference.
PendingObject* take_pending(TraceObject* trace);
/// Emits a pending result into `target`, with `accumulate` if it is given; false with an error. The
/// line, and that of errors, is where the kernel called it.
bool emit_pending(TraceObject* trace, const PendingObject* pending, PyObject* target,
                  PyObject* accumulate);
PyObject* trace_result(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                       PyObject* names);
/// The properties of a result; `operands` is a new reference, the others are borrowed.
struct Result {
  PyObject* shape;
  PyObject* dtype;
  PyObject* emit;
  PyObject* operands;
  bool in_psum = false;
  bool accumulates = false;
  bool is_explicit = false;
};
/// A tensor that is not written yet, with its pending result. New reference.
PyObject* deferred(TraceObject* trace, const Result& result);

// operators.cpp
/// instruction_result(shape, dtype, default, mask, instruction, *operands): a result in SBUF.
PyObject* instruction_result(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
/// plain_binary(op, x, y): the result for two tiles of the same shape and dtype, or a tile and a
/// float; None for other operands.
PyObject* plain_binary(PyObject* module, PyObject* const* arguments, Py_ssize_t count);
PyObject* trace_settle(PyObject* self, PyObject*);
PyObject* trace_builder(PyObject* self, void*);
PyObject* current_builder(PyObject* module, PyObject*);
/// Sets the builder's source line to that of a place.
bool go_to(TraceObject* trace, PyObject* place);
/// The trace has a tile that is placed automatically: not in a kernel with addresses.
bool note_tile(TraceObject* trace, PyObject* name);

// assignments.cpp
int assign_subscript(PyObject* self, PyObject* index, PyObject* value);
PyObject* add_in_place(PyObject* self, PyObject* other);
/// Trace.repeats(target): whether the iterations of an affine_range may all write it.
PyObject* trace_repeats(PyObject* self, PyObject* target);
PyObject* trace_settled_into(PyObject* self, PyObject* const* arguments, Py_ssize_t count);

// tiles.cpp
/// Trace.plain_tile(shape, dtype, buffer, name): a new tile that is placed automatically; None when
/// it is not of that kind.
PyObject* plain_tile(PyObject* self, PyObject* const* arguments, Py_ssize_t count);
/// Gives a result a tile; `place`: where the kernel makes it, or absent. False with an error.
bool give_tile(TraceObject* trace, PyObject* result, PyObject* buffer, PyObject* name,
               PyObject* place);

// places.cpp
/// The innermost frame of the kernel; nullptr without an error when there is none. New reference.
PyFrameObject* kernel_frame();
/// The name that a place assigns a tensor of `shape` to, after the checks of annotations and of
/// shadowing; empty when none. New reference.
PyObject* assigned_name(TraceObject* trace, PyFrameObject* frame, PyObject* place, PyObject* shape);
/// The place of a frame, see connections.place_of. Borrowed; nullptr with an error.
PyObject* place_of(PyFrameObject* frame);

/// TypeError: an argument is not of the type wanted. Returns nullptr.
PyObject* wrong_type(const char* argument, const char* wanted, PyObject* given);

/// Whether a trace has a builder; false with a RuntimeError.
bool has_builder(const TraceObject* trace);

/// Raises the error that refusals.py has for a reason, with its values. Returns false.
template <class... Values>
bool refuse(const char* reason, const Values&... values);

/// Sets Python's error from the C++ exception that is being handled. Returns nullptr.
PyObject* raised() noexcept;

// --- shared by all of these types -------------------------------------------------------------

/// Replaces a field by a new reference to `value`.
inline void set_field(PyObject*& field, PyObject* value) {
  PyObject* old = field;
  field = Py_XNewRef(value);
  Py_XDECREF(old);
}

/// object.name(argument), also of an argument that is a tuple.
inline PyObject* call_method(PyObject* object, const char* name, PyObject* argument) {
  return PyObject_CallMethod(object, name, "(O)", argument);
}

template <class Object>
int traverse(PyObject* self, visitproc visit, void* arg) {
  for (PyObject* member : reinterpret_cast<Object*>(self)->field) Py_VISIT(member);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

template <class Object>
int clear(PyObject* self) {
  for (PyObject*& member : reinterpret_cast<Object*>(self)->field) Py_CLEAR(member);
  return 0;
}

template <class Object>
void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear<Object>(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class... Values>
bool refuse(const char* reason, const Values&... values) {
  [[maybe_unused]] const auto argument = [](const auto& value) {  // of no values, unused
    if constexpr (std::is_convertible_v<decltype(value), PyObject*>) {
      return nanobind::handle(value);
    } else {
      return value;
    }
  };
  try {
    const auto error = nanobind::handle(connections.refusal)(reason, argument(values)...);
    PyErr_SetObject(error.type().ptr(), error.ptr());
  } catch (...) {
    raised();
  }
  return false;
}

}  // namespace neuron_sim::tracing
