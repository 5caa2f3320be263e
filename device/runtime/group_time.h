#pragma once
// How long a collective between the processes of a group takes, one NeuronCore each.

#include <cstdint>

#include "device/arch/architecture.h"
#include "device/base/units.h"

namespace neuron_sim {

/// The collectives; `bytes` of group_time is for each:
enum class GroupOperation {
  kBarrier,        ///< 0
  kBroadcast,      ///< the buffer
  kReduce,         ///< the buffer of a rank
  kAllReduce,      ///< the buffer of a rank
  kAllGather,      ///< the input of a rank
  kReduceScatter,  ///< the output of a rank
  kGather,         ///< the input of a rank
  kScatter,        ///< the output of a rank
  kAllToAll,       ///< the input of a rank
  kSend,           ///< the message; from one of 2 ranks to the other
};

/// Duration and the algorithm that it is of.
struct GroupTime {
  Picoseconds duration{};
  const char* algorithm{};  ///< as ExchangeTime::algorithm
};

/// exchange_time() of one group whose rank r is core r of a row of chips; other groups are silent.
/// A broadcast, or a reduction to one rank, is direct while its buffer is below
/// CollectiveTiming::mesh, else a scatter or reduce-scatter and a gather.
/// KernelError when `bytes` is negative or `ranks` is below 1.
GroupTime group_time(const Architecture& architecture, GroupOperation operation, Bytes bytes,
                     int ranks);

}  // namespace neuron_sim
