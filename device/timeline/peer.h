#pragma once
// When the two cores of a logical core are past core_barrier and sendrecv.

#include <array>

#include "device/program/meeting.h"
#include "device/timeline/core_walk.h"

namespace neuron_sim {

/// Both cores' time of the instructions they meet at. No public figures: Architecture::peer.
///
/// core_barrier: each engine writes a semaphore of the other core (peer.signal) and goes on when it
/// sees the other core's semaphore (peer.latency later).
/// sendrecv by DMA: each engine triggers its transfer and goes on; a transfer starts peer.latency
/// after the other core's trigger at the earliest, because its dst must be free. Both directions
/// complete together.
/// sendrecv by gpsimd_dma: the same, but GpSimd itself waits and moves the tile.
void meet_in_time(const Program& program, const PeerTiming& timing, const Meeting& meeting,
                  std::array<CoreWalk*, kMaximumCores> walks);

}  // namespace neuron_sim
