#pragma once
// The chain of events that decides when a run ends.

#include <map>
#include <string>
#include <vector>

#include "device/observe/recording.h"

namespace neuron_sim {

/// A stretch of the critical path.
struct PathSegment {
  uint32_t event = 0;  ///< that works, or whose start is late
  bool works = false;  ///< the event is at work; else the time passes before it
  Picoseconds start{}, end{};
};

/// From the start of the body to its end, without gaps: the event that completes last, what it
/// waited for, and so on. Several chains may be as long; this is one of them.
std::vector<PathSegment> critical_path(const Recording& recording);

/// What a segment is spent on: "Vector", "Vector latency", "DMA transfer", "DMA completion",
/// "DMA latency" (trigger to first packet), "semaphore", "issue", "start".
std::string spent_on(const Recording& recording, const PathSegment& segment);

/// Times of the path by what they are spent on; they sum to the body.
std::map<std::string, Picoseconds> path_summary(const Recording& recording,
                                                const std::vector<PathSegment>& path);

}  // namespace neuron_sim
