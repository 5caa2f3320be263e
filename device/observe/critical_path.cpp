#include "device/observe/critical_path.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// When an event let the one that it caused go, `start` at the latest.
Picoseconds released_at(const RecordedEvent& cause, CauseKind kind, Picoseconds start) {
  const Span& span = cause.step.span;
  return std::min(kind == CauseKind::kSemaphore ? span.done : span.end, start);
}

/// The event that completes last.
uint32_t last_event(const Recording& recording) {
  const auto completion = [](const RecordedEvent& event) {
    const bool completes =
        event.step.kind == EventKind::kStep || event.step.kind == EventKind::kTransfer;
    return completes ? event.step.span.done : Picoseconds{-1};
  };
  const auto last = std::ranges::max_element(recording.events, {}, completion);
  return static_cast<uint32_t>(last - recording.events.begin());
}

class Path {
 public:
  void add(uint32_t event, bool works, Picoseconds start, Picoseconds end) {
    if (end > start) segments_.push_back({event, works, start, end});
  }
  std::vector<PathSegment> in_order() {
    std::ranges::reverse(segments_);
    return std::move(segments_);
  }

 private:
  std::vector<PathSegment> segments_;
};

}  // namespace

std::vector<PathSegment> critical_path(const Recording& recording) {
  Path path;
  if (recording.events.empty()) return {};
  uint32_t index = last_event(recording);
  Picoseconds until = recording.timing.body;
  while (true) {
    const RecordedEvent& event = recording.events[index];
    const Span& span = event.step.span;
    // The span of a multiply may end before its results are visible; that part is its latency.
    const Picoseconds working = std::clamp(span.end, span.start, std::max(until, span.start));
    path.add(index, false, std::min(working, until), until);
    path.add(index, true, std::min(span.start, until), std::min(working, until));
    if (event.cause == kNoIndex) {
      path.add(index, false, {}, std::min(span.start, until));
      return path.in_order();
    }
    const Picoseconds start = std::min(span.start, until);
    until = released_at(recording.events[event.cause], event.cause_kind, start);
    path.add(index, false, until, start);
    index = event.cause;
  }
}

std::string spent_on(const Recording& recording, const PathSegment& segment) {
  const RecordedEvent& event = recording.events[segment.event];
  const bool transfer = event.step.kind == EventKind::kTransfer;
  const bool collective = event.step.unit == Unit::kCollective;
  if (segment.works) {
    if (transfer) return collective ? "collective" : "DMA transfer";
    return name(event.step.engine);
  }
  if (segment.start >= event.step.span.end) {
    return transfer ? "DMA completion" : text(name(event.step.engine), " latency");
  }
  switch (event.cause_kind) {
    case CauseKind::kSemaphore: return "semaphore";
    case CauseKind::kIssue: return transfer ? "DMA latency" : "issue";
    case CauseKind::kQueue: return "DMA latency";
    case CauseKind::kEngine: return "issue";
    case CauseKind::kStart: break;
  }
  return "start";
}

std::map<std::string, Picoseconds> path_summary(const Recording& recording,
                                                const std::vector<PathSegment>& path) {
  std::map<std::string, Picoseconds> result;
  for (const PathSegment& segment : path) {
    result[spent_on(recording, segment)] += segment.end - segment.start;
  }
  return result;
}

}  // namespace neuron_sim
