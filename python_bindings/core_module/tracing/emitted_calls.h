#pragma once
// The instructions that a trace emitted not long ago, with the arguments of their calls.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace neuron_sim::tracing {

/// Unrolled loops call an instruction again and again with the same arguments, or with tiles that
/// differ in nothing but their names: those are emitted without another draft and its checks.
class EmittedCalls {
 public:
  /// A call of an instruction with arguments for the builder: views, or immutable ones.
  struct Call {
    const InstructionObject* instruction;
    PyObject* line;
    PyObject* const* arguments;
    size_t count;
  };
  /// Emits a call, as one before it where that is possible; false when an argument is of another
  /// kind.
  bool emit(Builder& builder, const Call& call);

 private:
  /// A call that was emitted.
  struct Emitted {
    uint64_t hash = 0;
    const InstructionObject* instruction = nullptr;
    uint32_t number = 0;
    size_t count = 0;
    std::array<nanobind::object, kMostOperands + 2> arguments;

    bool repeat(Builder& builder, const Call& call, bool on_same_tiles) const;
    void set(uint64_t of, uint32_t as_number, const Call& call);
  };
  /// The latest calls whose hashes agree in the number of the set.
  struct Set {
    std::array<Emitted, 4> calls{};
    size_t next = 0;
  };

  std::array<Set, 64> sets_{};
  TileId newest_ = kNoTile;  ///< of all calls so far
};

}  // namespace neuron_sim::tracing
