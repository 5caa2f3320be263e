#include "device/timeline/collective_time.h"

#include <algorithm>

#include "device/isa/dma/collective.h"
#include "device/timeline/exchange_time.h"

namespace neuron_sim {
namespace {

/// What a collective moves whose larger buffer of a rank is `buffer`.
Exchange exchange_of(CollectiveKind kind, Bytes buffer) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return reduce_and_gather(buffer);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllGatherV: return {.buffer = buffer};
    case CollectiveKind::kReduceScatter: return {.buffer = buffer, .copying = 0, .reducing = 1};
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kAllToAllV: return {ExchangePattern::kPairs, buffer};
    case CollectiveKind::kPermute:
    case CollectiveKind::kPermuteImplicit: return {ExchangePattern::kRing, buffer};
    case CollectiveKind::kPermuteImplicitReduce:
      return {ExchangePattern::kRing, buffer, /*copying=*/0, /*reducing=*/1};
  }
  return {};
}

}  // namespace

Picoseconds collective_time(const Program& program, const Instruction& instruction,
                            const Architecture& architecture) {
  const auto attributes = program.attributes_of(instruction);
  const int64_t index = attributes[collective_attribute::kGroups].integer();
  const ReplicaGroups& groups = *program.replica_groups[static_cast<size_t>(index)];
  const Bytes buffer{program.demands[instruction.demand].steps[0].bytes};
  const auto cores = static_cast<int64_t>(program.cores.size());
  const int64_t chip = std::max<int64_t>(1, architecture.limits.cores / cores);
  const ExchangeTime time =
      exchange_time(architecture, exchange_of(kind_of(*instruction.type), buffer), groups, chip);
  const bool follows = attributes[collective_attribute::kFollows].flag();
  return follows ? time.transfer : time.latency + time.transfer;
}

}  // namespace neuron_sim
