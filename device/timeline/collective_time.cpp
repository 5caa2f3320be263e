#include "device/timeline/collective_time.h"

#include <algorithm>
#include <bit>
#include <map>

#include "device/isa/dma/collective.h"

namespace neuron_sim {
namespace {

/// How often the parts of a buffer go through a group: an all-reduce scatters and gathers.
double passes(CollectiveKind kind) { return kind == CollectiveKind::kAllReduce ? 2 : 1; }

bool permutes(CollectiveKind kind) {
  return kind == CollectiveKind::kPermute || kind == CollectiveKind::kPermuteImplicit ||
         kind == CollectiveKind::kPermuteImplicitReduce;
}

bool exchanges_all(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kAllToAllV;
}

/// Where the ranks of a group are: how many of them in each unit (a chip or an instance).
std::map<int64_t, int64_t> ranks_by_unit(const std::vector<int64_t>& group, int64_t unit) {
  std::map<int64_t, int64_t> result;
  for (const int64_t rank : group) ++result[rank / unit];
  return result;
}

/// Bytes that leave the busiest unit of ranks, all groups together.
double leaving(const ReplicaGroups& groups, int64_t unit, CollectiveKind kind, double buffer) {
  std::map<int64_t, double> bytes;
  for (const auto& group : groups.groups) {
    const auto ranks = static_cast<double>(group.size());
    const auto units = ranks_by_unit(group, unit);
    if (units.size() < 2) continue;
    for (const auto& [place, inside] : units) {
      const auto own = static_cast<double>(inside);
      // A ring leaves a unit once; of a gathered buffer the unit's own share does, and so comes in
      // all the rest; what every rank has for every other one crosses for each of them.
      const double share = permutes(kind)        ? 1
                           : exchanges_all(kind) ? own * (ranks - own) / ranks
                                                 : passes(kind) * (ranks - own) / ranks;
      bytes[place] += buffer * share;
    }
  }
  double most = 0;
  for (const auto& [place, count] : bytes) most = std::max(most, count);
  return most;
}

/// Steps of the algorithm in a group that is spread over `chips` chips.
double steps_of(const CollectiveTiming& timing, CollectiveKind kind, int64_t ranks, int64_t chips,
                int64_t buffer) {
  if (ranks == 1) return 0;
  if (permutes(kind)) return 1;
  const double inside = ranks > chips ? 1 : 0;
  if (exchanges_all(kind) || buffer < timing.mesh.count) {
    return passes(kind) * (inside + (chips > 1 ? 1 : 0));
  }
  // Recursive doubling pairs 2^p chips; a ring is what remains for any other number of them.
  const auto count = static_cast<uint64_t>(chips);
  if (buffer <= timing.recursive.count && std::has_single_bit(count)) {
    return passes(kind) * (inside + static_cast<double>(std::countr_zero(count)));
  }
  return passes(kind) * std::max(1.0, static_cast<double>(ranks) / 2);
}

/// Bytes that a rank itself sends.
double sent(CollectiveKind kind, int64_t ranks, double buffer) {
  if (permutes(kind) || ranks == 1) return buffer;
  return passes(kind) * buffer * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

}  // namespace

Picoseconds collective_time(const Program& program, const Instruction& instruction,
                            const Architecture& architecture) {
  const CollectiveTiming& timing = architecture.collective;
  const CollectiveKind kind = kind_of(*instruction.type);
  const auto attributes = program.attributes_of(instruction);
  const int64_t index = attributes[collective_attribute::kGroups].integer();
  const ReplicaGroups& groups = *program.replica_groups[static_cast<size_t>(index)];
  const int64_t bytes = program.demands[instruction.demand].steps[0].bytes;
  const auto buffer = static_cast<double>(bytes);
  const auto cores = static_cast<int64_t>(program.cores.size());
  const int64_t chip = std::max<int64_t>(1, architecture.limits.cores / cores);
  const int64_t instance = chip * timing.instance_chips;

  const double copy = static_cast<double>(architecture.dma.engines) *
                      architecture.dma.bytes_per_nanosecond *
                      (reduces(kind) ? architecture.dma.compute : 1);
  double nanoseconds =
      std::max({sent(kind, groups.largest_group(), buffer) / copy,
                leaving(groups, chip, kind, buffer) / timing.link_bytes_per_nanosecond,
                leaving(groups, instance, kind, buffer) / timing.network_bytes_per_nanosecond /
                    static_cast<double>(timing.instance_chips)});
  if (attributes[collective_attribute::kFollows].flag()) return from_nanoseconds(nanoseconds);
  Picoseconds latency{};
  for (const auto& group : groups.groups) {
    const auto ranks = static_cast<int64_t>(group.size());
    const auto chips = static_cast<int64_t>(ranks_by_unit(group, chip).size());
    const bool local = ranks_by_unit(group, instance).size() == 1;
    const Picoseconds hop = local ? timing.hop_latency : timing.instance_latency;
    const double steps = steps_of(timing, kind, ranks, chips, bytes);
    latency = std::max(latency, from_nanoseconds(hop.nanoseconds() * steps));
  }
  return latency + from_nanoseconds(nanoseconds);
}

}  // namespace neuron_sim
