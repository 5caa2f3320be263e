#pragma once
// How long the ranks of groups take to exchange their buffers, once all of them are there.

#include <cstdint>

#include "device/arch/architecture.h"
#include "device/base/units.h"
#include "device/instruction/replica_groups.h"

namespace neuron_sim {

/// Which ranks have something for which others.
enum class ExchangePattern : uint8_t {
  kParts,  ///< each rank's part of the buffer goes to all others, or is summed up from all of them
  kRing,   ///< each rank has a buffer for the next one
  kPairs,  ///< each rank has another part of its buffer for each other one
  kRoot,   ///< all parts come from the first rank or go to it
};

/// What a collective moves in each group.
struct Exchange {
  ExchangePattern pattern = ExchangePattern::kParts;
  Bytes buffer{};    ///< the larger buffer of a rank
  int copying = 1;   ///< passes through the group that move bytes as they are
  int reducing = 0;  ///< passes through the group that combine what they move
};

/// An all-reduce: a reduce-scatter, then an all-gather of what it left in each rank.
Exchange reduce_and_gather(Bytes buffer);

/// Both times of an exchange, and the algorithm of its slowest group.
struct ExchangeTime {
  Picoseconds latency{};
  Picoseconds transfer{};
  const char* algorithm{};  ///< "none" (one rank), "ring", "direct", "mesh", "rdh" or "kangaring"
};

/// Latency: the steps of the algorithm times that of a step. Transfer: for each pass, its bytes
/// over the slowest of the ways that they take. Duration is the sum of both
/// (neuron-runtime/explore/intranode-collective-comm.rst, which also names the algorithms, their
/// numbers of steps, the sizes between them and the latency of a step; the figures are in the
/// section `collective` of the architecture).
///
/// Rank r is core r of a row of chips, `chip` ranks each, and chips fill instances; all groups run
/// at once and share what joins their chips. Buffers below CollectiveTiming::mesh take the mesh,
/// up to CollectiveTiming::recursive recursive doubling and halving, larger ones a ring through
/// every second rank; kRing is one step, kPairs a mesh, kRoot direct. Within a chip bytes move at
/// the rate of a core's DMA engines, those of a reducing pass at DmaTiming::compute of it.
/// Assumed: passes and steps do not overlap, and the sizes hold for any group.
ExchangeTime exchange_time(const Architecture& architecture, const Exchange& exchange,
                           const ReplicaGroups& groups, int64_t chip);

}  // namespace neuron_sim
