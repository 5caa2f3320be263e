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

/// When a core continues that has signalled to the other one and waits for its signal.
Picoseconds met(const PeerTiming& timing, const Times& arrived, size_t core) {
  return timing.signal + std::max(arrived[core], arrived[1 - core] + timing.latency);
}

void meet_at_barrier(const PeerTiming& timing, const Meeting& meeting, const Times& arrived,
                     std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  for (size_t core = 0; core < kMaximumCores; ++core) {
    walks[core]->hold(indices[core], arrived[core], met(timing, arrived, core), timing.signal);
  }
}

/// The cores meet at a core barrier before the transfers, whose targets must be free, and after
/// them: all operations of a group complete before any can proceed (nki.isa.sendrecv).
void exchange_by_dma(const PeerTiming& timing, const Meeting& meeting, const Times& arrived,
                     std::array<CoreWalk*, kMaximumCores> walks) {
  const auto indices = indices_of(meeting);
  std::array<Span, kMaximumCores> triggers, transfers;
  Times ready, sent;
  for (size_t core = 0; core < kMaximumCores; ++core) {
    triggers[core] = walks[core]->trigger(indices[core], arrived[core]);
    ready[core] = triggers[core].start;
  }
  for (size_t core = 0; core < kMaximumCores; ++core) {
    transfers[core] = walks[core]->send(indices[core], triggers[core], met(timing, ready, core));
    sent[core] = transfers[core].done;
  }
  for (size_t core = 0; core < kMaximumCores; ++core) {
    walks[core]->receive(indices[core], transfers[core], met(timing, sent, core));
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
