#include "device/timeline/timeline.h"

#include <memory>
#include <vector>

#include "device/program/cursor.h"
#include "device/timeline/core_walk.h"
#include "device/timeline/peer.h"

namespace neuron_sim {

TimelineObserver::~TimelineObserver() = default;

namespace {

/// Hands every core's instructions to its walk. The cores share the clock and the control log.
class Walk {
 public:
  Walk(const Program& program, const ControlLog& log, const TimelineOptions& options)
      : program_(program), peer_(architecture_of(program, options).peer), log_(log) {
    for (size_t core = 0; core < program.cores.size(); ++core) {
      cores_[core] = std::make_unique<CoreWalk>(program, core, log_, options);
    }
  }

  int64_t trip_count(const Loop& loop) { return cores_[loop.core]->trip_count(loop); }
  int64_t boundary(const Loop& loop, uint32_t index, int64_t iteration, int64_t trips) {
    return cores_[loop.core]->boundary(loop, index, iteration, trips);
  }
  void instruction(uint32_t index, const int64_t* variables) {
    cores_[program_.instructions[index].core]->instruction(index, variables);
  }
  void meet(const Meeting& meeting) {
    meet_in_time(program_, peer_, meeting, {cores_[0].get(), cores_[1].get()});
  }

  Timing finish() {
    Timing timing = cores_[0]->finish();
    for (size_t core = 1; core < program_.cores.size(); ++core) {
      timing.add_core(cores_[core]->finish());
    }
    return timing;
  }

 private:
  const Program& program_;
  const PeerTiming& peer_;
  LogReader log_;
  std::array<std::unique_ptr<CoreWalk>, kMaximumCores> cores_;
};

/// Whether an instruction of the program has GpSimd generate descriptors.
bool software_descriptors(const Program& program) {
  for (const Demand& demand : program.demands) {
    for (int i = 0; i < demand.count; ++i) {
      const Step& step = demand.steps[static_cast<size_t>(i)];
      if (step.unit == Unit::kDma && step.descriptors == DescriptorKind::kSoftware) return true;
    }
  }
  return false;
}

Timing walk_cores(const Program& program, const ControlLog& log, const TimelineOptions& options) {
  if (program.cores.size() == 1) {  // without the detour of a dispatch per instance
    LogReader reader(log);
    CoreWalk core(program, 0, reader, options);
    Cursor<CoreWalk>(program, core).walk();
    return core.finish();
  }
  Walk walk(program, log, options);
  Cursor<Walk>(program, walk).walk();
  return walk.finish();
}

}  // namespace

Timing simulate(const Program& program, const ControlLog& log, const TimelineOptions& options) {
  Timing timing = walk_cores(program, log, options);
  timing.software_descriptors = software_descriptors(program);
  return timing;
}

}  // namespace neuron_sim
