#pragma once
// When each engine of a core is at work, coarse enough for a timeline of many programs.

#include <cstdint>
#include <string>
#include <vector>

#include "device/program/program.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {

/// A stretch of work of an engine; from its first start to its last end.
struct LaneSpan {
  Picoseconds start{}, end{};  ///< since the start of the program
  int64_t steps = 0;
  std::string name;  ///< the instruction, or "5 steps"
};

/// An engine, or its DMA queue; cores of a program share one lane.
struct EngineLane {
  std::string name;  ///< "Tensor", "DMA queue of Sync"
  std::vector<LaneSpan> spans;
};

/// The lanes that have work, engines first, by simulating the program once more. Steps less than a
/// gap apart are one span; the gap grows until no lane has more than `most_spans` (at least 1).
/// Without a log, programs whose control depends on data show their upper bound.
std::vector<EngineLane> engine_lanes(const Program& program, size_t most_spans,
                                     const ControlLog& log = {});

}  // namespace neuron_sim
