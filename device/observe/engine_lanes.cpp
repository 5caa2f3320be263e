#include "device/observe/engine_lanes.h"

#include <algorithm>
#include <map>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

/// Keeps the steps by lane: engines, then DMA queues.
class LaneObserver final : public TimelineObserver {
 public:
  void step(const Program& program, const StepEvent& event) override {
    if (event.kind == EventKind::kWait) return;  // the engine is stalled
    const int engine = static_cast<int>(event.engine);
    const bool transfer = event.kind == EventKind::kTransfer;
    const auto& type = *program.instructions[event.instruction].type;
    steps_[transfer ? kEngineCount + engine : engine].push_back(
        {event.span.start, event.span.end, 1, std::string(type.name)});
  }
  std::map<int, std::vector<LaneSpan>>& steps() { return steps_; }

 private:
  std::map<int, std::vector<LaneSpan>> steps_;
};

std::string lane_name(int lane) {
  if (lane < kEngineCount) return std::string(name(static_cast<EngineKind>(lane)));
  return text("DMA queue of ", name(static_cast<EngineKind>(lane - kEngineCount)));
}

/// Joins spans (ordered by start) whose distance is at most `gap`.
std::vector<LaneSpan> joined(const std::vector<LaneSpan>& steps, Picoseconds gap) {
  std::vector<LaneSpan> spans;
  for (const LaneSpan& step : steps) {
    if (spans.empty() || spans.back().end + gap < step.start) {
      spans.push_back(step);
      continue;
    }
    LaneSpan& last = spans.back();
    last.end = std::max(last.end, step.end);
    last.steps += step.steps;
    if (last.name != step.name) last.name.clear();
  }
  for (LaneSpan& span : spans) {
    if (span.name.empty()) span.name = text(span.steps, " steps");
  }
  return spans;
}

}  // namespace

std::vector<EngineLane> engine_lanes(const Program& program, size_t most_spans,
                                     const ControlLog& log) {
  require(most_spans >= 1, "a lane shows at least one span");
  LaneObserver observer;
  TimelineOptions options;
  options.observer = &observer;
  simulate(program, log, options);
  std::vector<EngineLane> lanes;
  for (auto& [lane, steps] : observer.steps()) {
    std::stable_sort(steps.begin(), steps.end(), [](const LaneSpan& left, const LaneSpan& right) {
      return left.start < right.start;
    });
    Picoseconds gap{};
    std::vector<LaneSpan> spans = joined(steps, gap);
    while (spans.size() > most_spans) {
      gap = {std::max<int64_t>(1000, gap.count * 2)};
      spans = joined(steps, gap);
    }
    lanes.push_back({lane_name(lane), std::move(spans)});
  }
  return lanes;
}

}  // namespace neuron_sim
