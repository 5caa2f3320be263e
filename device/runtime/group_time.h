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
  kSend,           ///< the message
};

/// Duration and the algorithm that it is of.
struct GroupTime {
  Picoseconds duration{};
  const char* algorithm{};  ///< "none" (one rank), "direct", "mesh", "rdh" or "kangaring"
};

/// Steps of the algorithm times the latency of a step, and the bytes over the slowest of the ways
/// that they take (neuron-runtime/explore/intranode-collective-comm.rst names the algorithms, their
/// numbers of steps, the sizes between them and the latency of a step; the figures are in the
/// section `collective` of the architecture). Rank r is core r of a row of chips. Buffers below
/// collective.mesh take the mesh, up to collective.recursive recursive doubling and halving, larger
/// ones a ring through every second rank. Within a chip bytes move at the rate of a core's DMA
/// engines, reduced ones at dma.compute of it. A broadcast or reduction to one rank is direct when
/// small, else a scatter and a gather. Assumed: steps do not overlap, other groups are silent.
/// KernelError when `bytes` is negative or `ranks` is below 1.
GroupTime group_time(const Architecture& architecture, GroupOperation operation, Bytes bytes,
                     int ranks);

}  // namespace neuron_sim
