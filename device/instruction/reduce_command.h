#pragma once
// How an instruction uses the reduction registers of its engine.

#include <cstdint>

namespace neuron_sim {

/// The numbers of nki.isa.reduce_cmd. "Reset" is to the value that the reduction starts from: 0 for
/// add, 1 for multiply, -inf for maximum, inf for minimum.
enum class ReduceCommand : uint8_t {
  kIdle,         ///< leave the registers alone
  kReset,        ///< reset, reduce nothing
  kReduce,       ///< reduce on top of what they hold
  kResetReduce,  ///< reset, then reduce
  kLoadReduce,   ///< load an initial value, then reduce
};

}  // namespace neuron_sim
