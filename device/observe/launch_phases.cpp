#include "device/observe/launch_phases.h"

#include <algorithm>

namespace neuron_sim {
namespace {

constexpr Picoseconds kPostamble{2'100'000};

}  // namespace

LaunchPhases launch_phases(const Timing& timing, const Architecture& architecture) {
  const Picoseconds total = timing.profile(architecture);
  const Picoseconds latency = timing.benchmark(architecture);
  const Picoseconds postamble = std::min(kPostamble, architecture.launch.profile);
  // A launch that takes longer than the profiler's preamble begins where the picture does.
  const Picoseconds before =
      std::max(architecture.launch.profile - postamble, latency - timing.body);
  const Picoseconds end = before + timing.body;
  return {.total = {"total_time", end + postamble - total, end + postamble},
          .preamble = {"preamble", end + postamble - total, before},
          .body = {"body", before, end},
          .postamble = {"postamble", end, end + postamble},
          .latency = {"nc_latency", end - latency, end}};
}

}  // namespace neuron_sim
