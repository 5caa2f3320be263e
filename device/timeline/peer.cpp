#include "device/timeline/peer.h"

#include <algorithm>

namespace neuron_sim {
namespace {

using Times = std::array<Picoseconds, kMaximumCores>;

/// Index of a core's instruction, in the order of cores.
std::array<uint32_t, kMaximumCores> indices_of(const Meeting& meeting) {
  std::array<uint32_t, kMaximumCores> result{};
  for (size_t core = 0; core < result.size(); ++core) {
    result[core] = static_cast<uint32_t>(meeting.instruction[core]);
  }
  return result;
}

void meet_at_barrier(const PeerTiming& timing, const Meeting& meeting, const Times& arrived,
                     std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  for (size_t core = 0; core < kMaximumCores; ++core) {
    const Picoseconds own = arrived[core] + timing.signal;
    const Picoseconds other = arrived[1 - core] + timing.signal + timing.latency;
    walks[core]->hold(indices[core], arrived[core], std::max(own, other), timing.signal);
  }
}

void exchange_by_dma(const PeerTiming& timing, const Meeting& meeting, const Times& arrived,
                     std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  std::array<Span, kMaximumCores> triggers, transfers;
  for (size_t core = 0; core < kMaximumCores; ++core) {
    triggers[core] = walks[core]->trigger(indices[core], arrived[core]);
  }
  for (size_t core = 0; core < kMaximumCores; ++core) {
    const Picoseconds start =
        std::max(triggers[core].start, triggers[1 - core].start + timing.latency);
    transfers[core] = walks[core]->send(indices[core], triggers[core], start);
  }
  const Picoseconds done = std::max(transfers[0].done, transfers[1].done);
  for (size_t core = 0; core < kMaximumCores; ++core) {
    walks[core]->receive(indices[core], transfers[core], done);
  }
}

void exchange_by_gpsimd(const PeerTiming& timing, const Meeting& meeting, const Times& arrived,
                        const Step& step, std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  const auto bytes = static_cast<double>(step.elements * step.bytes);
  const Picoseconds moving =
      timing.gpsimd_latency + from_nanoseconds(bytes / timing.gpsimd_bytes_per_nanosecond);
  Picoseconds done{};
  for (size_t core = 0; core < kMaximumCores; ++core) {
    done = std::max(done, std::max(arrived[core], arrived[1 - core] + timing.latency) + moving);
  }
  for (size_t core = 0; core < kMaximumCores; ++core) {
    walks[core]->hold(indices[core], arrived[core], done, moving);
  }
}

}  // namespace

void meet_in_time(const Program& program, const PeerTiming& timing, const Meeting& meeting,
                  std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  Times arrived;
  for (size_t core = 0; core < kMaximumCores; ++core) {
    arrived[core] = walks[core]->arrive(indices[core], meeting.variables[core]);
  }
  const Step& step = program.demands[meeting.of(program, 0).demand].steps[0];
  switch (step.unit) {
    case Unit::kBarrier: return meet_at_barrier(timing, meeting, arrived, walks);
    case Unit::kGpSimdDma: return exchange_by_gpsimd(timing, meeting, arrived, step, walks);
    default: return exchange_by_dma(timing, meeting, arrived, walks);
  }
}

}  // namespace neuron_sim
