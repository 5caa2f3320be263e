#pragma once
// torch.profiler's view of the devices: one session per profile, filled on simulated time.

#include <kineto/IActivityProfiler.h>
#include <kineto/libkineto.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "csrc/launch/device_activity.h"
#include "csrc/launch/launch_origin.h"
#include "device/observe/engine_lanes.h"

namespace neuron_sim {

/// Collects what the devices do between start and stop. In the trace every device is a process with
/// a lane per stream and, under each kernel, lanes of its engines. Simulated time runs from the
/// host time of start(): an event that lasts 3 us on the chip is 3 us long.
class ProfilerSession final : public libkineto::IActivityProfilerSession {
 public:
  /// `configuration`: `custom_profiler_config` of the profile, for the ProfileObserver.
  explicit ProfilerSession(std::string configuration) : configuration_(std::move(configuration)) {}
  ~ProfilerSession() override;
  void start() override;
  void stop() override;
  std::vector<std::string> errors() override { return {}; }
  void processTrace(libkineto::ActivityLogger& logger) override;
  void processTrace(libkineto::ActivityLogger& logger,
                    libkineto::getLinkedActivityCallback linked_activity, int64_t start,
                    int64_t end) override;
  /// Devices are announced by processTrace, because there may be several.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(trace_); }
  void pushCorrelationId(uint64_t id) override;
  void popCorrelationId() override;

 private:
  struct Seen {
    DeviceActivity activity;
    uint64_t correlation = 0;  ///< the operator that submitted it
    LaunchOrigin origin;
  };
  /// Lane numbers of one device by name, in order of appearance.
  using Lanes = std::map<std::string, int32_t>;

  int64_t host_time(Picoseconds simulated) const;
  libkineto::GenericTraceActivity& add_event(const DeviceActivity& activity,
                                             libkineto::ActivityType type, const std::string& name,
                                             const std::string& lane, TimeSpan span);
  void add_activity(const Seen& seen, const libkineto::getLinkedActivityCallback& linked_activity);
  static void add_origin(libkineto::GenericTraceActivity& event, const LaunchOrigin& origin);
  void add_engine_lanes(const DeviceActivity& activity);
  void announce_devices(libkineto::ActivityLogger& logger) const;

  std::string configuration_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
  int64_t host_start_ = 0;  ///< nanoseconds since the epoch
  Picoseconds simulated_start_{};
  std::unique_ptr<libkineto::CpuTraceBuffer> trace_;
  std::map<int, Lanes> lanes_;
  std::map<const Kernel*, std::vector<EngineLane>> engine_lanes_;
};

}  // namespace neuron_sim
