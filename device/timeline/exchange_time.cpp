#include "device/timeline/exchange_time.h"

#include <algorithm>
#include <bit>
#include <map>

namespace neuron_sim {
namespace {

/// How many ranks of a group are in each unit (a chip or an instance).
std::map<int64_t, int64_t> ranks_by_unit(const std::vector<int64_t>& group, int64_t unit) {
  std::map<int64_t, int64_t> result;
  for (const int64_t rank : group) ++result[rank / unit];
  return result;
}

/// Buffers that leave a unit, or come to it, in a pass: it holds `own` ranks of a group of `ranks`.
double crossing(ExchangePattern pattern, double own, double ranks) {
  switch (pattern) {
    case ExchangePattern::kRing: return 1;  // which leaves a unit once
    case ExchangePattern::kPairs: return own * (ranks - own) / ranks;
    // The unit's own share of a gathered buffer leaves it, and all the rest comes in.
    case ExchangePattern::kParts:
    case ExchangePattern::kRoot: return (ranks - own) / ranks;
  }
  return 0;
}

/// Bytes that cross the border of the busiest unit of ranks in a pass, all groups together.
double busiest(const Exchange& exchange, const ReplicaGroups& groups, int64_t unit) {
  std::map<int64_t, double> bytes;
  for (const auto& group : groups.groups) {
    const auto ranks = static_cast<double>(group.size());
    const auto units = ranks_by_unit(group, unit);
    if (units.size() < 2) continue;
    for (const auto& [place, inside] : units) {
      // The root's unit has to do with all others, they only with the root.
      if (exchange.pattern == ExchangePattern::kRoot && place != group[0] / unit) continue;
      bytes[place] += static_cast<double>(exchange.buffer.count) *
                      crossing(exchange.pattern, static_cast<double>(inside), ranks);
    }
  }
  double most = 0;
  for (const auto& [place, count] : bytes) most = std::max(most, count);
  return most;
}

/// Bytes that a rank itself sends in a pass.
double sent(const Exchange& exchange, int64_t ranks) {
  const auto buffer = static_cast<double>(exchange.buffer.count);
  if (exchange.pattern == ExchangePattern::kRing || ranks == 1) return buffer;
  return buffer * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

/// ns of all passes, each at the rate of the slowest way.
double transfer_of(const Architecture& architecture, const Exchange& exchange,
                   const ReplicaGroups& groups, int64_t chip) {
  const CollectiveTiming& timing = architecture.collective;
  const auto chips = static_cast<double>(timing.instance_chips);
  const int64_t instance = chip * timing.instance_chips;
  const int64_t ranks = groups.largest_group();
  const double copy =
      static_cast<double>(architecture.dma.engines) * architecture.dma.bytes_per_nanosecond;
  const double within = sent(exchange, ranks) / copy;
  const double between =
      std::max(busiest(exchange, groups, chip) / timing.link_bytes_per_nanosecond,
               busiest(exchange, groups, instance) / timing.network_bytes_per_nanosecond / chips);
  // Alone, a rank has nobody's parts to combine with its own and none to gather: it copies once.
  if (ranks == 1 && exchange.pattern != ExchangePattern::kRing) return within;
  return exchange.copying * std::max(within, between) +
         exchange.reducing * std::max(within / architecture.dma.compute, between);
}

/// An algorithm and its steps in a pass.
struct Algorithm {
  const char* name;
  double steps;
};

/// How a group on `chips` chips exchanges: first within the chips, then between them.
Algorithm algorithm_of(const CollectiveTiming& timing, const Exchange& exchange, int64_t ranks,
                       int64_t chips) {
  if (ranks == 1) return {"none", 0};
  if (exchange.pattern == ExchangePattern::kRing) return {"ring", 1};
  const int inside = ranks > chips ? 1 : 0;
  const double direct = inside + (chips > 1 ? 1 : 0);
  if (exchange.pattern == ExchangePattern::kRoot) return {"direct", direct};
  if (exchange.pattern == ExchangePattern::kPairs || exchange.buffer < timing.mesh) {
    return {"mesh", direct};
  }
  // Recursive doubling pairs 2^p chips; a ring is what remains for any other number of them.
  const auto count = static_cast<uint64_t>(chips);
  if (exchange.buffer <= timing.recursive && std::has_single_bit(count)) {
    return {"rdh", static_cast<double>(inside + std::countr_zero(count))};
  }
  return {"kangaring", std::max(1.0, static_cast<double>(ranks) / 2)};
}

}  // namespace

Exchange reduce_and_gather(Bytes buffer) { return {.buffer = buffer, .copying = 1, .reducing = 1}; }

ExchangeTime exchange_time(const Architecture& architecture, const Exchange& exchange,
                           const ReplicaGroups& groups, int64_t chip) {
  const CollectiveTiming& timing = architecture.collective;
  const int64_t instance = chip * timing.instance_chips;
  ExchangeTime time;
  for (const auto& group : groups.groups) {
    const auto chips = static_cast<int64_t>(ranks_by_unit(group, chip).size());
    const bool local = ranks_by_unit(group, instance).size() == 1;
    const Picoseconds step = local ? timing.hop_latency : timing.instance_latency;
    const Algorithm algorithm =
        algorithm_of(timing, exchange, static_cast<int64_t>(group.size()), chips);
    const double steps = algorithm.steps * (exchange.copying + exchange.reducing);
    const Picoseconds latency = from_nanoseconds(step.nanoseconds() * steps);
    if (latency < time.latency) continue;
    time.latency = latency;
    time.algorithm = algorithm.name;
  }
  time.transfer = from_nanoseconds(transfer_of(architecture, exchange, groups, chip));
  return time;
}

}  // namespace neuron_sim
