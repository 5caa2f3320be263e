#pragma once
// The instructions that a trace emitted not long ago, with the arguments of their calls.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "device/builder/builder.h"

namespace neuron_sim::tracing {

inline constexpr size_t kMostArguments = 18;  ///< of a call: operands, target and `accumulate`

/// Unrolled loops call an instruction again and again with the same arguments, or with tiles that
/// differ in nothing but their names: those are emitted without another draft and its checks.
///
/// Objects are known by their addresses. Whoever calls keeps those of a call that is remembered for
/// as long as its place has no other one.
class EmittedCalls {
 public:
  static constexpr size_t kSets = 64, kPlaces = 4, kCount = kSets * kPlaces;

  struct Argument {
    const void* object;
    const View* view;  ///< null if the object is not a view
  };
  struct Call {
    const void* instruction;
    const void* line;
    std::span<const Argument> arguments;
    bool has_mode;  ///< see Builder::repeat
  };

  /// Emits a call, as one before it where that is possible, else by emit(); false when that is.
  /// keep(place): the call is going to be remembered there.
  template <class Emit, class Keep>
  bool emit(Builder& builder, const Call& call, Emit emit_anew, Keep keep) {
    const Candidate now = candidate(call);
    const auto number = static_cast<uint32_t>(builder.instruction_count());
    if (!now.is_on_new_tile && repeats(builder, call, now, true)) return true;
    const bool is_repeated = repeats(builder, call, now, false);
    if (!is_repeated && !emit_anew()) return false;
    if (!is_repeated || !now.is_on_new_tile) {
      Set& set = sets_[now.set];
      set.calls[set.next].instruction = nullptr;  // it matches no call while its objects go
      keep(now.set * kPlaces + set.next);
      set.calls[set.next].remember(now.hash, number, call);
      set.next = (set.next + 1) % kPlaces;
    }
    return true;
  }

 private:
  struct Candidate {
    uint64_t hash;
    size_t set;
    bool is_on_new_tile;
  };
  /// A call that was emitted.
  struct Emitted {
    uint64_t hash = 0;
    const void* instruction = nullptr;
    uint32_t number = 0;
    size_t count = 0;
    std::array<Argument, kMostArguments> arguments;

    bool repeat(Builder& builder, const Call& call, bool on_same_tiles) const;
    void remember(uint64_t of, uint32_t as_number, const Call& call);
  };
  /// The latest calls whose hashes agree in the number of the set.
  struct Set {
    std::array<Emitted, kPlaces> calls{};
    size_t next = 0;
  };

  Candidate candidate(const Call& call);
  bool repeats(Builder& builder, const Call& call, const Candidate& now, bool on_same_tiles) const;

  std::array<Set, kSets> sets_{};
  TileId newest_ = kNoTile;  ///< of all calls so far
};

}  // namespace neuron_sim::tracing
