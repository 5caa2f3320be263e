// torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NEURON_SIM]) and
// whatever else PyTorch collects through Kineto.

#define USE_KINETO  // the wheel is built with it, but its CMake files do not say so
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include "csrc/profiler/profiler_session.h"

namespace neuron_sim {
namespace {

using libkineto::ActivityType;

class DeviceActivityProfiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return activities_; }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& wanted, const libkineto::Config& config) override {
    if (wanted.count(ActivityType::CONCURRENT_KERNEL) == 0) return nullptr;  // CPU only
    return std::make_unique<ProfilerSession>(config.getCustomConfig());
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t, int64_t, const std::set<ActivityType>& wanted,
      const libkineto::Config& config) override {
    return configure(wanted, config);
  }

 private:
  std::string name_ = "neuron_sim";
  std::set<ActivityType> activities_{ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                     ActivityType::GPU_USER_ANNOTATION};
};

REGISTER_PRIVATEUSE1_PROFILER(DeviceActivityProfiler);

}  // namespace
}  // namespace neuron_sim
