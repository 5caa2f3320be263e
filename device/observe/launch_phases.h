#pragma once
// Where the body of a kernel lies between launch and teardown, so that the three published notions
// of its time are spans of one picture.

#include "device/arch/architecture.h"
#include "device/timeline/timing.h"

namespace neuron_sim {

/// A stretch of a launch, since the start of what the vendor's profiler counts.
struct LaunchPhase {
  const char* name = "";
  Picoseconds start{}, end{};
};

/// Phases of one launch. `total` is the profiler's total_time: preamble, body and postamble follow
/// each other in it. `latency` (nc_latency) ends with the body, as on the device's schedule.
struct LaunchPhases {
  LaunchPhase total, preamble, body, postamble, latency;
};

/// The phases of a run with that timing. The postamble takes 2.1 us (trn2 attention traces, as
/// launch.profile; assumed for other generations), or all of launch.profile if that is shorter.
LaunchPhases launch_phases(const Timing& timing, const Architecture& architecture);

}  // namespace neuron_sim
