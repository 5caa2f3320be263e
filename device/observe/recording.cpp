#include "device/observe/recording.h"

#include "device/observe/recorder.h"

namespace neuron_sim {
namespace {

/// The run of `pool` that begins at `first` of an instance and ends at that of the next one.
template <typename Item>
std::span<const Item> run_of(const std::vector<Item>& pool, const Recording& recording,
                             size_t instance, uint32_t RecordedInstance::*first) {
  const size_t begin = recording.instances[instance].*first;
  const bool last = instance + 1 == recording.instances.size();
  const size_t end = last ? pool.size() : recording.instances[instance + 1].*first;
  return {pool.data() + begin, end - begin};
}

}  // namespace

std::span<const RecordedWait> Recording::waits_of(size_t instance) const {
  return run_of(waits, *this, instance, &RecordedInstance::first_wait);
}

std::span<const Location> Recording::locations_of(size_t instance) const {
  return run_of(locations, *this, instance, &RecordedInstance::first_location);
}

Recording record(const Program& program, const ControlLog& log, TimelineOptions options) {
  Recording recording;
  recording.program = &program;
  recording.architecture = &architecture_of(program, options);
  Recorder recorder(recording);
  options.observer = &recorder;
  recording.timing = simulate(program, log, options);
  recording.phases = launch_phases(recording.timing, *recording.architecture);
  recorder.finish();
  return recording;
}

}  // namespace neuron_sim
