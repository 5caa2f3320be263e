#include "csrc/launch/device_activity.h"

#include <mutex>
#include <utility>

#include "csrc/launch/launches.h"

namespace neuron_sim {
namespace {

struct Listener {
  std::mutex mutex;
  ActivityListener call;
};

Listener& listener() {
  static auto* instance = new Listener;
  return *instance;
}

void report_launch(const LaunchRecord& launch) {
  report_activity({ActivityKind::kKernel,
                   launch.device,
                   launch.stream,
                   launch.span,
                   {},
                   launch.kernel,
                   launch.timing.body});
}

}  // namespace

void set_activity_listener(ActivityListener call) {
  set_launch_observer(call ? report_launch : LaunchObserver{});
  const std::lock_guard lock(listener().mutex);
  listener().call = std::move(call);
}

void report_activity(const DeviceActivity& activity) {
  const std::lock_guard lock(listener().mutex);
  if (listener().call) listener().call(activity);
}

}  // namespace neuron_sim
