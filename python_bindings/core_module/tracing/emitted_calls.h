#pragma once
// The instructions that a trace emitted not long ago, with the arguments of their calls.

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>

#include "device/builder/builder.h"
#include "python_bindings/core_module/tracing/calls.h"
#include "python_bindings/core_module/tracing/hash.h"

namespace neuron_sim::tracing {

/// Unrolled loops call an instruction again and again with the same arguments, or with tiles that
/// differ in nothing but their names: those are emitted without another draft and its checks.
class EmittedCalls {
 public:
  EmittedCalls() = default;
  EmittedCalls(const EmittedCalls&) = delete;
  EmittedCalls& operator=(const EmittedCalls&) = delete;

  /// A call of an instruction with arguments for the builder: views, or immutable ones.
  struct Call {
    const InstructionObject* instruction;
    PyObject* line;
    PyObject* const* arguments;
    size_t count;
  };
  /// What a call is looked up by, the number its instruction gets, and whether it names a tile that
  /// no call named before.
  struct Key {
    uint64_t on_tiles, on_any_tiles;
    uint32_t number;
    bool is_on_new_tile;
  };
  Key key_of(const Builder& builder, const Call& call);
  /// Emits a call that was emitted before; false when it has to be emitted as any other.
  bool repeat(Builder& builder, const Call& call, const Key& key);
  /// Remembers a call that was emitted as any other.
  void keep(const Call& call, const Key& key);

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
    static constexpr size_t kCalls = 4;
    std::array<Emitted, kCalls> calls{};
    size_t next = 0;

    bool repeat(uint64_t hash, Builder& builder, const Call& call, bool on_same_tiles) const;
    void keep(uint64_t hash, uint32_t number, const Call& call);
  };
  using Sets = std::array<Set, 32>;
  static Set& set_of(Sets& sets, uint64_t hash) { return sets[index_of(hash, sets.size())]; }

  Sets on_tiles_{}, on_any_tiles_{};
  TileId newest_ = kNoTile;  ///< of all calls so far
};

}  // namespace neuron_sim::tracing
