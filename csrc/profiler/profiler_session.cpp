#include "csrc/profiler/profiler_session.h"

#include <c10/util/ApproximateClock.h>
#include <kineto/output_base.h>

#include <utility>

#include "csrc/profiler/profile_observer.h"
#include "csrc/runtime/device_name.h"
#include "csrc/runtime/errors.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

// Enough to see the pipeline of a kernel; a whole model stays a file that a viewer opens.
constexpr size_t kMostSpansPerLane = 64;
// Processes of the trace: above any process of the host, whose ids are below 2^22.
constexpr int64_t kFirstProcess = int64_t{1} << 22;

thread_local std::vector<uint64_t> correlations;  // innermost operator last

std::string stream_lane(int64_t stream) {
  return stream == 0 ? "default stream" : "stream " + std::to_string(stream);
}

/// A value of Kineto's JSON. Kineto escapes nothing and turns every backslash of an event into a
/// slash, so that a quote cannot be escaped: it becomes an apostrophe, a control character a space.
std::string in_json(std::string value) {
  for (char& c : value) {
    if (c == '"') c = '\'';
    if (c == '\\') c = '/';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return value;
}

std::string name_of(const DeviceActivity& activity) {
  switch (activity.kind) {
    case ActivityKind::kKernel: return in_json(activity.kernel->program().kernel);
    case ActivityKind::kHostToDevice: return "Memcpy HtoD (Host -> Device)";
    case ActivityKind::kDeviceToHost: return "Memcpy DtoH (Device -> Host)";
    case ActivityKind::kOnDevice: return "Memcpy DtoD (Device -> Device)";
  }
  return "";
}

/// Never destroyed: a profile may end after this library's destructors.
struct Observer {
  std::mutex mutex;
  ProfileObserver call;
};

Observer& observer() {
  static auto* const instance = new Observer;
  return *instance;
}

}  // namespace

void set_profile_observer(ProfileObserver call) {
  const std::lock_guard lock(observer().mutex);
  observer().call = std::move(call);
}

void tell_profile_observer(const std::string& configuration, bool started) {
  ProfileObserver call;
  {
    const std::lock_guard lock(observer().mutex);
    call = observer().call;
  }
  if (call) call(configuration, started);
}

ProfilerSession::~ProfilerSession() {
  if (status_ == libkineto::TraceStatus::RECORDING) set_activity_listener({});
}

void ProfilerSession::start() {
  host_start_ = c10::getTime();
  simulated_start_ = translate_errors([] { return schedule(0).host().now(); });
  status_ = libkineto::TraceStatus::RECORDING;
  set_activity_listener([this](const DeviceActivity& activity) {
    auto origin = current_origin();
    const std::lock_guard lock(mutex_);
    seen_.push_back({activity, correlations.empty() ? 0 : correlations.back(), std::move(origin)});
  });
  tell_profile_observer(configuration_, true);
}

void ProfilerSession::stop() {
  set_activity_listener({});
  status_ = libkineto::TraceStatus::PROCESSING;
  tell_profile_observer(configuration_, false);
}

void ProfilerSession::pushCorrelationId(uint64_t id) { correlations.push_back(id); }
void ProfilerSession::popCorrelationId() {
  if (!correlations.empty()) correlations.pop_back();
}

int64_t ProfilerSession::host_time(Picoseconds simulated) const {
  return host_start_ + (simulated.count - simulated_start_.count + 500) / 1000;
}

GenericTraceActivity& ProfilerSession::add_event(const DeviceActivity& activity, ActivityType type,
                                                 const std::string& name, const std::string& lane,
                                                 TimeSpan span) {
  Lanes& lanes = lanes_[activity.device];
  const auto next = static_cast<int32_t>(lanes.size());
  trace_->emplace_activity(trace_->span, type, name);
  GenericTraceActivity& event = *trace_->activities.back();
  event.startTime = host_time(span.start);
  event.endTime = host_time(span.end);
  event.device = activity.device;
  event.resource = lanes.try_emplace(lane, next).first->second;
  return event;
}

void ProfilerSession::add_activity(const Seen& seen,
                                   const libkineto::getLinkedActivityCallback& linked_activity) {
  const DeviceActivity& activity = seen.activity;
  const bool kernel = activity.kind == ActivityKind::kKernel;
  GenericTraceActivity& event =
      add_event(activity, kernel ? ActivityType::CONCURRENT_KERNEL : ActivityType::GPU_MEMCPY,
                name_of(activity), stream_lane(activity.stream), activity.span);
  event.id = static_cast<int32_t>(seen.correlation);
  if (linked_activity && seen.correlation != 0) {
    event.linked = linked_activity(static_cast<int32_t>(seen.correlation));
  }
  if (!kernel) event.addMetadataQuoted("bytes", std::to_string(activity.bytes.count));
  add_origin(event, seen.origin);
  if (kernel) add_engine_lanes(activity);
}

/// As properties of torch.neuron_sim.Launch.
void ProfilerSession::add_origin(GenericTraceActivity& event, const LaunchOrigin& origin) {
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) event.addMetadataQuoted(key, in_json(value));
  };
  add("operator", origin.op);
  add("module", origin.place.module);
  if (origin.shapes) add("shapes", *origin.shapes);
  add("source_line", origin.place.line);
}

/// Engines work in the body, which ends with the span; before it is the launch overhead.
void ProfilerSession::add_engine_lanes(const DeviceActivity& activity) {
  const auto [known, added] = engine_lanes_.try_emplace(activity.kernel.get());
  if (added) {
    known->second = translate_errors(
        [&] { return engine_lanes(activity.kernel->program(), kMostSpansPerLane); });
  }
  const Picoseconds body = activity.span.end - activity.body;
  for (const EngineLane& lane : known->second) {
    for (const LaneSpan& span : lane.spans) {
      const Picoseconds start = body + span.start, end = body + span.end;
      add_event(activity, ActivityType::GPU_USER_ANNOTATION, span.name, lane.name, {start, end});
    }
  }
}

/// Kineto calls every process of a device "GPU n" itself. Viewers that read metadata in the order
/// of time (Perfetto) keep the last name, so ours are given at the end.
void ProfilerSession::announce_devices(libkineto::ActivityLogger& logger) const {
  const int64_t now = c10::getTime();
  for (const auto& [device, lanes] : lanes_) {
    const std::string name = device_name() + ":" + std::to_string(device);
    logger.handleDeviceInfo({device, kFirstProcess + device, name, "simulated time"}, now);
    for (const auto& [lane, number] : lanes) {
      logger.handleResourceInfo({number, number, device, lane}, host_start_);
    }
  }
}

void ProfilerSession::processTrace(libkineto::ActivityLogger& logger) {
  processTrace(logger, {}, 0, 0);
}

void ProfilerSession::processTrace(libkineto::ActivityLogger& logger,
                                   libkineto::getLinkedActivityCallback linked_activity, int64_t,
                                   int64_t) {
  trace_ = std::make_unique<libkineto::CpuTraceBuffer>();
  trace_->span = libkineto::TraceSpan(host_start_, c10::getTime(), "neuron_sim");
  trace_->gpuOpCount = 0;
  const std::lock_guard lock(mutex_);
  for (const Seen& seen : seen_) add_activity(seen, linked_activity);
  announce_devices(logger);
  for (const auto& event : trace_->activities) logger.handleGenericActivity(*event);
  status_ = libkineto::TraceStatus::READY;
}

}  // namespace neuron_sim
