#include "csrc/launches.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "csrc/errors.h"
#include "device/base/errors.h"
#include "device/observe/trace.h"

namespace neuron_sim {
namespace {

/// The active recordings. Never destroyed: threads may launch until the process ends.
struct Recordings {
  std::mutex mutex;
  RecordingId next = 1;
  std::map<RecordingId, std::vector<LaunchRecord>> active;
  std::shared_ptr<const LaunchObserver> observer;
};

Recordings& recordings() {
  static auto* instance = new Recordings;
  return *instance;
}

void record(const LaunchRecord& launch) {
  std::shared_ptr<const LaunchObserver> observer;
  {
    const std::lock_guard lock(recordings().mutex);
    for (auto& [id, launches] : recordings().active) launches.push_back(launch);
    observer = recordings().observer;
  }
  if (observer) (*observer)(launch);
}

/// Listens to launches while somebody wants to know; the caller holds the lock.
void listen_if_wanted() {
  const bool wanted = !recordings().active.empty() || recordings().observer != nullptr;
  set_launch_listener(wanted ? record : std::function<void(const LaunchRecord&)>{});
}

std::string argument_text(const Argument& argument) {
  std::string sizes;
  for (const int64_t size : argument.shape) sizes += text(sizes.empty() ? "" : ", ", size);
  return text(argument.label, " [", sizes, "] ", name(argument.dtype));
}

}  // namespace

RecordingId start_recording() {
  const std::lock_guard lock(recordings().mutex);
  const RecordingId id = recordings().next++;
  recordings().active.try_emplace(id);
  listen_if_wanted();
  return id;
}

std::vector<LaunchRecord> finish_recording(RecordingId recording) {
  const std::lock_guard lock(recordings().mutex);
  auto found = recordings().active.extract(recording);
  listen_if_wanted();
  return found.empty() ? std::vector<LaunchRecord>{} : std::move(found.mapped());
}

void set_launch_observer(LaunchObserver observer) {
  const std::lock_guard lock(recordings().mutex);
  recordings().observer =
      observer ? std::make_shared<const LaunchObserver>(std::move(observer)) : nullptr;
  listen_if_wanted();
}

std::string shapes_text(const LaunchRecord& launch) {
  std::string inputs, outputs;
  for (const Argument& argument : launch.kernel->program().arguments) {
    std::string& list = argument.written ? outputs : inputs;
    list += text(list.empty() ? "" : ", ", argument_text(argument));
  }
  return text(inputs, " -> ", outputs);
}

void write_trace(std::ostream& out, const LaunchRecord& launch) {
  translate_errors([&] { write_trace(out, launch.kernel->program()); });
}

}  // namespace neuron_sim
