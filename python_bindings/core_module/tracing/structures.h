#pragma once
// The objects of a Python kernel while it is traced, as C structures: loops, index expressions,
// masks, storages, tensors, results that are not emitted yet.

#include <nanobind/nanobind.h>
#include <structmember.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace neuron_sim {
class Builder;
}

namespace neuron_sim::tracing {

inline constexpr int kMaximumTerms = 12;       ///< loop variables in one index expression
inline constexpr int kMaximumDimensions = 12;  ///< of an index expression, or a tensor here

/// A counted loop whose variable is symbolic: start + step * (0 .. trip_count - 1).
struct LoopObject {
  enum { kKey, kName, kKind, kAffine, kFields };
  PyObject ob_base;
  PyObject* field[kFields];
  long long trip_count;
  long long depth;
  long long opened_at;  ///< number of uses of tensors until then
};

struct Term {
  LoopObject* loop;  ///< owned by the expression that has the term
  int64_t coefficient;
};

/// constant + sum of coefficient * loop variable, without dimensions; owns no references.
struct Position {
  int64_t constant = 0;
  int terms = 0;
  std::array<Term, kMaximumTerms> term;
};

/// constant + sum of coefficient * loop variable + sum of step * position in a dimension.
struct ExpressionObject {
  PyObject ob_base;
  int64_t constant;
  int terms;
  int rank;
  Term term[kMaximumTerms];
  int64_t steps[kMaximumDimensions];
  int64_t shape[kMaximumDimensions];
};

/// The result of comparing index expressions: every expression of a tuple is at least 0.
struct MaskObject {
  enum { kConditions, kFields };
  PyObject ob_base;
  PyObject* field[kFields];
};

/// nl.ds(start, size): elements start .. start + size - 1; start may be symbolic.
struct DynamicSliceObject {
  enum { kStart, kFields };
  PyObject ob_base;
  PyObject* field[kFields];
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
  PyObject* field[kFields];
  long long made_at;
  long long uses;      ///< access patterns taken for instructions
  long long last_use;  ///< the trace's number of it
  char is_mutable;
  char written;
  char in_psum;
};

/// An access pattern of a storage; without a storage it is a result that no instruction wrote yet.
struct TensorObject {
  enum {
    kStorage,
    kShape,
    kDtype,
    kSteps,
    kAxis,
    kPartition,
    kStart,
    kChecks,
    kIndex,
    kIndexRows,
    kIndexStride,
    kRegister,
    kDynamic,
    kPending,
    kAccess,
    kFields
  };
  PyObject ob_base;
  PyObject* field[kFields];
};

/// The pattern of a tensor as numbers.
struct Pattern {
  int axis = -1;  ///< the dimension that counts partitions; -1 in HBM
  int rank = 0;
  int64_t shape[kMaximumDimensions];
  int64_t steps[kMaximumDimensions];
  Position partition, start;

  /// Appends a dimension; false with an error when there are too many.
  bool append(int64_t size, int64_t step);
  /// Moves the first element along a dimension of `of`; false with an error on overflow.
  bool move(const Pattern& of, int dimension, const Position& by);
};

/// A result whose instruction is not emitted yet.
struct PendingObject {
  enum { kTrace, kTensor, kEmit, kOperands, kBuffer, kPlace, kName, kFields };
  PyObject ob_base;
  PyObject* field[kFields];
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
  PyObject* field[kFields];
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
  PyObject* field[kFields];
};

/// A builder method that emits a result: operands are tensors, or what the method takes.
struct InstructionObject {
  enum { kMethod, kFields };
  PyObject ob_base;
  PyObject* field[kFields];
  long long accumulate_at;  ///< position of the parameter `accumulate`, -1 without
  /// Emits without calling the method (plain_emission()); null where that is not possible.
  bool (*emit_plain)(Builder& builder, PyObject* const* arguments, size_t count);
  vectorcallfunc call;
};

}  // namespace neuron_sim::tracing
