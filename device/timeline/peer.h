#pragma once
// When the two cores of a logical core are past core_barrier and sendrecv.

#include <array>

#include "device/program/meeting.h"
#include "device/timeline/core_walk.h"

namespace neuron_sim {

/// Both cores' time of the instructions they meet at. No public figures: Architecture::peer.
///
/// core_barrier: each engine writes a semaphore of the other core (peer.signal) and continues when
/// it sees the other core's semaphore (peer.latency later).
/// sendrecv by DMA: each engine triggers its transfer and continues. The transfers are between two
/// barriers of that kind (nki.isa.sendrecv: "with CoreBarrier synchronization"): dst must be free,
/// and all operations of a group complete before any can proceed.
/// sendrecv by gpsimd_dma: GpSimd waits for the other core's signal and moves the tile itself.
void meet_in_time(const Program& program, const PeerTiming& timing, const Meeting& meeting,
                  std::array<CoreWalk*, kMaximumCores> walks);

}  // namespace neuron_sim
