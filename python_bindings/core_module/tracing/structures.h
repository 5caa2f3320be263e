#pragma once
// The objects of a Python kernel while it is traced, as C structures: loops, index expressions,
// masks, storages, tensors, results that are not emitted yet.

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/tracing/emitted_calls.h"
#include "device/tracing/recent_keys.h"
#include "device/tracing/tensor_view.h"

namespace neuron_sim::tracing {

/// A field of an object of Python: a reference that the object owns. Memory of zeros, in which
/// Python makes objects, is one to nothing.
class Owned : public nanobind::object {
 public:
  using nanobind::object::operator=;
  operator PyObject*() const { return ptr(); }
};

struct Nothing {};

/// An object of Python: references, `Fields` that are all Owned, and a value of C++.
template <class Fields, class Value = Nothing>
struct Object : PyObject, Fields, Value {
  static constexpr size_t kReferences = sizeof(Fields) / sizeof(Owned);  // none of Nothing
  std::span<Owned> references() {
    return {reinterpret_cast<Owned*>(static_cast<Fields*>(this)), kReferences};
  }
  Value& value() { return *this; }
};

struct LoopFields {
  Owned key, kind;
};
/// A counted loop whose variable is symbolic: start + step * (0 .. trip_count - 1).
using LoopObject = Object<LoopFields, Loop>;

/// These own references to the loops that they name, and so does a tensor.
using ExpressionObject = Object<Nothing, IndexExpression>;
using MaskObject = Object<Nothing, Mask>;

struct DynamicSliceFields {
  Owned start;
};
/// nl.ds(start, size): elements start .. start + size - 1; start may be symbolic.
struct DynamicSliceObject : Object<DynamicSliceFields> {
  long long size;
};

struct StorageFields {
  Owned trace, name, buffer, memory, shape, dtype, whole, scope, axis, views, ordinal, argument;
};
/// An allocation: a tile (on chip) or an HBM tensor.
struct StorageObject : Object<StorageFields> {
  long long made_at;
  long long uses;      ///< access patterns taken for instructions
  long long last_use;  ///< the trace's number of it
  char is_mutable, written, in_psum;
};

struct TensorFields {
  Owned storage, dtype, index, at_register, dynamic, pending;
  Owned sizes;  ///< the tuple of the shape, made when Python asks for it
  Owned access;
};
/// A view of a storage; without a storage it is a result that no instruction wrote yet.
struct TensorObject : Object<TensorFields, TensorView> {
  long long index_rows;  ///< of the dimension that an index tile selects from
  long long index_stride;
};

struct PendingFields {
  Owned trace, tensor, emit, operands, buffer, place, name;
};
/// A result whose instruction is not emitted yet.
struct PendingObject : Object<PendingFields> {
  char accumulates;
  char is_explicit;  ///< the user gave the dtype
  char in_psum;
};

struct TraceFields {
  Owned builder, pending, line, loops, scopes, open_scopes, allocation, unshadowed;
  /// Of each part of a tensor in `keys`: the tensor, the index, the part.
  std::array<std::array<Owned, 3>, RecentKeys::kCount> parts;
};
/// Calls with the objects that they know by their addresses.
struct HeldCalls {
  EmittedCalls calls;
  std::array<std::array<nanobind::object, kMostArguments>, EmittedCalls::kCount> held;
};
/// What a trace remembers beside objects that may refer to it.
struct TraceMemory {
  RecentKeys keys;
  std::unique_ptr<HeldCalls> calls;
};
/// The state of a trace that every instruction needs.
struct TraceObject : Object<TraceFields, TraceMemory> {
  long long uses;  ///< of tensors by instructions
  char widens;     ///< tiles of low precision are stored as fp32
  char emitting;   ///< an instruction of another line
  char is_old;     ///< the language is the older one
  char has_tiles;  ///< the allocation knows of a tile that is placed automatically
};

struct HandleFields {
  Owned number, trace;
};
/// The handle of an emitted instruction.
using HandleObject = Object<HandleFields>;

struct InstructionFields {
  Owned method;
};
/// A builder method that emits a result: operands are tensors, or what the method takes.
struct InstructionObject : Object<InstructionFields> {
  long long accumulate_at;  ///< position of the parameter `accumulate`, -1 without
  /// Emits without calling the method (plain_emission()); null where that is not possible.
  bool (*emit_plain)(Builder& builder, PyObject* const* arguments, size_t count);
  vectorcallfunc call;
};

}  // namespace neuron_sim::tracing
