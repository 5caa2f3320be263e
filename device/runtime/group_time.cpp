#include "device/runtime/group_time.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Where the ranks of a group are.
struct Placement {
  double ranks = 0;
  int64_t chips = 0;
  bool one_instance = true;
  double on_chip = 0;      ///< ranks of a full chip
  double on_instance = 0;  ///< ranks of a full instance
};

/// What an operation moves: bytes of the larger buffer of a rank, and how often its parts go
/// through the group.
struct Movement {
  double buffer = 0;
  double passes = 1;
  bool reduces = false;
  bool rooted = false;  ///< all to or from one rank
  bool paired = false;  ///< every rank has something else for every other one, or there is one pair
};

Placement placement_of(const Architecture& architecture, int ranks) {
  const int64_t cores = architecture.limits.cores;
  const int64_t instance = cores * architecture.collective.instance_chips;
  return {.ranks = static_cast<double>(ranks),
          .chips = (ranks + cores - 1) / cores,
          .one_instance = ranks <= instance,
          .on_chip = static_cast<double>(std::min<int64_t>(ranks, cores)),
          .on_instance = static_cast<double>(std::min<int64_t>(ranks, instance))};
}

Movement movement_of(const CollectiveTiming& timing, GroupOperation operation, double bytes,
                     double ranks) {
  const bool small = bytes < static_cast<double>(timing.mesh.count);
  switch (operation) {
    case GroupOperation::kBarrier: return {};
    case GroupOperation::kBroadcast:
      return small ? Movement{.buffer = bytes * ranks, .rooted = true}
                   : Movement{.buffer = bytes, .passes = 2};
    case GroupOperation::kReduce:
      return small ? Movement{.buffer = bytes * ranks, .reduces = true, .rooted = true}
                   : Movement{.buffer = bytes, .passes = 2, .reduces = true};
    case GroupOperation::kAllReduce: return {.buffer = bytes, .passes = 2, .reduces = true};
    case GroupOperation::kAllGather: return {.buffer = bytes * ranks};
    case GroupOperation::kReduceScatter: return {.buffer = bytes * ranks, .reduces = true};
    case GroupOperation::kGather:
    case GroupOperation::kScatter: return {.buffer = bytes * ranks, .rooted = true};
    case GroupOperation::kAllToAll: return {.buffer = bytes, .paired = true};
    case GroupOperation::kSend: return {.buffer = bytes * 2, .rooted = true};
  }
  return {};
}

/// Bytes that leave the busiest of units (chips or instances) that hold `inside` ranks each.
double leaving(const Movement& movement, double inside, double ranks) {
  if (inside >= ranks) return 0;
  const double share = (ranks - inside) / ranks;
  if (movement.paired) return movement.buffer * inside * share;
  return movement.buffer * movement.passes * share;
}

/// As of collective_time(): doubling pairs 2^p chips, a ring takes any number of them.
const char* algorithm_of(const CollectiveTiming& timing, const Movement& movement, int64_t chips) {
  if (movement.rooted) return "direct";
  if (movement.paired || movement.buffer < static_cast<double>(timing.mesh.count)) return "mesh";
  const bool doubles = movement.buffer <= static_cast<double>(timing.recursive.count) &&
                       std::has_single_bit(static_cast<uint64_t>(chips));
  return doubles ? "rdh" : "kangaring";
}

/// Steps in turn: within the chip, then between chips.
double steps_of(const CollectiveTiming& timing, const Movement& movement,
                const Placement& placement) {
  const double inside = placement.on_chip > 1 ? 1 : 0;
  const double between = placement.chips > 1 ? 1 : 0;
  const std::string_view algorithm = algorithm_of(timing, movement, placement.chips);
  if (algorithm == "direct" || algorithm == "mesh") return movement.passes * (inside + between);
  if (algorithm == "rdh") {
    const int doublings = std::countr_zero(static_cast<uint64_t>(placement.chips));
    return movement.passes * (inside + static_cast<double>(doublings));
  }
  return movement.passes * std::max(1.0, placement.ranks / 2);
}

}  // namespace

GroupTime group_time(const Architecture& architecture, GroupOperation operation, Bytes bytes,
                     int ranks) {
  if (bytes.count < 0 || ranks < 1) {
    fail(text("a collective of ", bytes.count, " bytes between ", ranks,
              " ranks does not exist: expected 0 bytes and 1 rank at least"));
  }
  if (ranks == 1) return {{}, "none"};
  const CollectiveTiming& timing = architecture.collective;
  const int group = operation == GroupOperation::kSend ? 2 : ranks;
  const Placement placement = placement_of(architecture, ranks);
  const Movement movement = movement_of(timing, operation, static_cast<double>(bytes.count), group);
  const double copy = static_cast<double>(architecture.dma.engines) *
                      architecture.dma.bytes_per_nanosecond *
                      (movement.reduces ? architecture.dma.compute : 1);
  const double sent = movement.passes * movement.buffer * (group - 1) / group;
  const double from_chip = leaving(movement, placement.on_chip, placement.ranks);
  const double from_instance = leaving(movement, placement.on_instance, placement.ranks);
  const double network =
      timing.network_bytes_per_nanosecond * static_cast<double>(timing.instance_chips);
  const double nanoseconds = std::max(
      {sent / copy, from_chip / timing.link_bytes_per_nanosecond, from_instance / network});
  const Picoseconds step = placement.one_instance ? timing.hop_latency : timing.instance_latency;
  const double steps = steps_of(timing, movement, placement);
  return {from_nanoseconds(step.nanoseconds() * steps + nanoseconds),
          algorithm_of(timing, movement, placement.chips)};
}

}  // namespace neuron_sim
