#pragma once
// Looks on while a program runs in program order.

#include <cstdint>
#include <span>

#include "device/program/meeting.h"
#include "device/program/program.h"

namespace neuron_sim {

/// What only a run knows about an instance.
struct InstanceFacts {
  bool moves = true;                ///< false: it skips an address that is out of bounds
  std::span<const int32_t> rows{};  ///< of the indirect operand; -1 is skipped
};

/// An instance of an instruction and where its operands lie.
struct ObservedInstance {
  uint32_t instruction = 0;
  const int64_t* variables = nullptr;
  const Location* locations = nullptr;
};

/// Called on the thread that runs the program. A run with an observer keeps to program order.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// An iteration of a loop begins.
  virtual void iteration(const Loop& /*loop*/, int64_t /*iteration*/) {}
  /// An instance is about to run; its addresses are not checked yet.
  virtual void starts(const ObservedInstance& /*instance*/) {}
  /// Its operands are resolved and checked; nothing is written yet. Not called when it is skipped.
  virtual void before(std::span<const Access> /*operands*/) {}
  virtual void after(const ObservedInstance& /*instance*/, std::span<const Access> /*operands*/,
                     const InstanceFacts& /*facts*/) {}
  /// Two cores have met.
  virtual void meets(const Meeting& /*meeting*/) {}
};

}  // namespace neuron_sim
