#pragma once
// A recording as a file for https://ui.perfetto.dev.

#include <ostream>

#include "device/observe/recording.h"

namespace neuron_sim {

/// Writes a perfetto.protos.Trace. A process per core holds a group of tracks per engine and DMA
/// queue (with a track per ring), and counters (counters_over_time); the process "launch" has the
/// phases of the launch. Arrows lead from every completion to the instance that waited for it, and
/// from every trigger to its transfer. Time 0 is the start of the launch. Perfetto counts
/// nanoseconds, rounded down here; the argument `start_ps` is exact, since the start of the body.
void write_perfetto(std::ostream& out, const Recording& recording);

}  // namespace neuron_sim
