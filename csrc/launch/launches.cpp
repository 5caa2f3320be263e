#include "csrc/launch/launches.h"

#include <c10/util/Exception.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "device/base/errors.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

std::string argument_text(const Argument& argument) {
  std::string sizes;
  for (const int64_t size : argument.shape) sizes += text(sizes.empty() ? "" : ", ", size);
  return text(argument.label, " [", sizes, "] ", name(argument.dtype));
}

std::string arguments_text(const Program& program) {
  std::string inputs, outputs;
  for (const Argument& argument : program.arguments) {
    std::string& list = argument.written ? outputs : inputs;
    list += text(list.empty() ? "" : ", ", argument_text(argument));
  }
  return text(inputs, " -> ", outputs);
}

/// Whether a launch had these times; a program whose control depends on data has several.
bool same_figures(const Timing& a, const Timing& b) {
  return a.body == b.body && a.busy == b.busy && a.dma_busy == b.dma_busy &&
         a.instances == b.instances && a.dma_transfers == b.dma_transfers &&
         a.dma_bytes == b.dma_bytes;
}

/// Keeps the launch's own data; kernels and timings are shared by the launches that have them.
class Recording {
 public:
  void add(const LaunchRecord& launch, const LaunchOrigin& origin, int64_t allocated_bytes) {
    Known& known = known_[launch.kernel.get()];
    if (!known.kernel) keep(known, launch.kernel);
    if (!known.timing || !same_figures(*known.timing, launch.timing)) {
      known.timing = std::make_shared<const Timing>(launch.timing);
    }
    launches_.push_back({known.kernel, known.timing, launch.device, launch.stream, launch.span,
                         origin, allocated_bytes});
  }
  std::vector<RecordedLaunch> take() { return std::move(launches_); }

 private:
  struct Known {
    std::shared_ptr<RecordedKernel> kernel;
    std::shared_ptr<const Timing> timing;  ///< of the last launch
  };

  void keep(Known& known, const std::shared_ptr<const Kernel>& kernel) {
    const Program& program = kernel->program();
    known.kernel = std::make_shared<RecordedKernel>(
        RecordedKernel{program.kernel, arguments_text(program), report_overlaps(program),
                       program.architecture, kernel});
    order_.push_back(kernel.get());
    if (order_.size() <= kKeptPrograms) return;
    const auto oldest = known_.find(order_.front());
    order_.pop_front();
    // The record of a kernel is not visible outside before the recording is finished.
    oldest->second.kernel->kernel.reset();
    known_.erase(oldest);
  }

  std::vector<RecordedLaunch> launches_;
  std::unordered_map<const Kernel*, Known> known_;  ///< kept, so that no address is reused
  std::deque<const Kernel*> order_;                 ///< oldest first
};

/// The active recordings. Never destroyed: threads may launch until the process ends.
struct Recordings {
  std::mutex mutex;
  RecordingId next = 1;
  std::map<RecordingId, Recording> active;
  std::shared_ptr<const LaunchObserver> observer;
};

Recordings& recordings() {
  static auto* instance = new Recordings;
  return *instance;
}

void record(const LaunchRecord& launch) {
  if (tallies_launches()) tally_launch(launch);
  if (!follows_operators()) return;
  // Before the lock: the place is Python's, whose lock a thread may hold that waits for this one.
  const LaunchOrigin origin = current_origin();
  const int64_t allocated = device_allocator(launch.device).statistics().bytes.current;
  std::shared_ptr<const LaunchObserver> observer;
  {
    const std::lock_guard lock(recordings().mutex);
    for (auto& [id, recording] : recordings().active) recording.add(launch, origin, allocated);
    observer = recordings().observer;
  }
  if (observer) (*observer)(launch);
}

/// Listens to launches while there is an observer, recording or tally; the caller holds the lock.
void listen_if_wanted() {
  const bool records = !recordings().active.empty() || recordings().observer != nullptr;
  follow_operators(records);
  set_launch_listener(records || tallies_launches() ? record
                                                    : std::function<void(const LaunchRecord&)>{});
}

}  // namespace

RecordingId start_recording() {
  const std::lock_guard lock(recordings().mutex);
  const RecordingId id = recordings().next++;
  recordings().active.try_emplace(id);
  listen_if_wanted();
  return id;
}

std::vector<RecordedLaunch> finish_recording(RecordingId recording) {
  const std::lock_guard lock(recordings().mutex);
  auto found = recordings().active.extract(recording);
  listen_if_wanted();
  return found.empty() ? std::vector<RecordedLaunch>{} : found.mapped().take();
}

void set_launch_observer(LaunchObserver observer) {
  const std::lock_guard lock(recordings().mutex);
  recordings().observer =
      observer ? std::make_shared<const LaunchObserver>(std::move(observer)) : nullptr;
  listen_if_wanted();
}

TallyId start_tally(bool keeps_programs) {
  const std::lock_guard lock(recordings().mutex);
  const TallyId id = add_tally(keeps_programs);
  listen_if_wanted();
  return id;
}

LaunchTally finish_tally(TallyId tally) {
  const std::lock_guard lock(recordings().mutex);
  LaunchTally sums = read_tally(tally);
  remove_tally(tally);
  listen_if_wanted();
  return sums;
}

std::string RecordedLaunch::shapes() const {
  return origin.shapes == nullptr || origin.shapes->empty() ? kernel->arguments : *origin.shapes;
}

void check_kept(const RecordedLaunch& launch) {
  TORCH_CHECK(launch.kernel->kernel, "the program of this launch of ", launch.kernel->name,
              " is not kept any more: a recording keeps those of its last ", kKeptPrograms,
              " different kernels");
}

}  // namespace neuron_sim
