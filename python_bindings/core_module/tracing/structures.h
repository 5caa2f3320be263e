#pragma once
// The objects of a Python kernel while it is traced, as C structures: loops, index expressions,
// masks, storages, tensors, results that are not emitted yet.

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>

#include "device/tracing/tensor_view.h"

namespace neuron_sim {
class Builder;
}

namespace neuron_sim::tracing {

/// A field of an object of Python: a reference that the object owns. Memory of zeros, in which
/// Python makes objects, is one to nothing.
class Owned : public nanobind::object {
 public:
  using nanobind::object::operator=;
  operator PyObject*() const { return ptr(); }
};

/// A counted loop whose variable is symbolic: start + step * (0 .. trip_count - 1).
struct LoopObject {
  enum { kKey, kName, kKind, kAffine, kFields };
  PyObject ob_base;
  Owned field[kFields];
  Loop loop;
  long long depth;
  long long opened_at;  ///< number of uses of tensors until then
};

/// nl.ds(start, size): elements start .. start + size - 1; start may be symbolic.
struct DynamicSliceObject {
  enum { kStart, kFields };
  PyObject ob_base;
  Owned field[kFields];
  long long size;
};

/// An allocation: a tile (on chip) or an HBM tensor.
struct StorageObject {
  enum {
    kTrace,
    kName,
    kBuffer,
    kMemory,
    kShape,
    kDtype,
    kWhole,
    kScope,
    kAxis,
    kTyped,
    kOrdinal,
    kArgument,
    kFields
  };
  PyObject ob_base;
  Owned field[kFields];
  long long made_at;
  long long uses;      ///< access patterns taken for instructions
  long long last_use;  ///< the trace's number of it
  char is_mutable;
  char written;
  char in_psum;
};

/// A view of a storage; without a storage it is a result that no instruction wrote yet.
struct TensorObject {
  enum { kStorage, kDtype, kIndex, kRegister, kDynamic, kPending, kShape, kAccess, kFields };
  PyObject ob_base;
  Owned field[kFields];  ///< kShape: the tuple of the view's shape, made when Python asks for it
  TensorView view;       ///< owns references to the loops that it names
  long long index_rows;  ///< of the dimension that an index tile selects from
  long long index_stride;
};

/// A result whose instruction is not emitted yet.
struct PendingObject {
  enum { kTrace, kTensor, kEmit, kOperands, kBuffer, kPlace, kName, kFields };
  PyObject ob_base;
  Owned field[kFields];
  char accumulates;
  char is_explicit;  ///< the user gave the dtype
  char in_psum;
};

/// The state of a trace that every instruction needs.
struct TraceObject {
  enum {
    kBuilder,
    kPending,
    kLine,
    kLoops,
    kScopes,
    kOpenScopes,
    kAllocation,
    kUnshadowed,
    kParts,
    kEmitted,
    kFields
  };
  PyObject ob_base;
  Owned field[kFields];
  long long uses;  ///< of tensors by instructions
  char widens;     ///< tiles of low precision are stored as fp32
  char emitting;   ///< an instruction of another line
  char is_old;     ///< the language is the older one
  char has_tiles;  ///< the allocation knows of a tile that is placed automatically
};

/// The handle of an emitted instruction.
struct HandleObject {
  enum { kNumber, kTrace, kFields };
  PyObject ob_base;
  Owned field[kFields];
};

/// A builder method that emits a result: operands are tensors, or what the method takes.
struct InstructionObject {
  enum { kMethod, kFields };
  PyObject ob_base;
  Owned field[kFields];
  long long accumulate_at;  ///< position of the parameter `accumulate`, -1 without
  /// Emits without calling the method (plain_emission()); null where that is not possible.
  bool (*emit_plain)(Builder& builder, PyObject* const* arguments, size_t count);
  vectorcallfunc call;
};

}  // namespace neuron_sim::tracing
