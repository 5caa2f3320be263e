// torch.autograd.profiler with use_device="neuron_sim": device time is simulated time.

#include <c10/core/DeviceGuard.h>
#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

using torch::profiler::impl::ProfilerStubs;
using torch::profiler::impl::ProfilerVoidEventStub;

class DeviceProfilerStubs final : public ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event,
              int64_t* host_nanoseconds) const override {
    const int current = current_device();
    if (device != nullptr) *device = static_cast<c10::DeviceIndex>(current);
    if (host_nanoseconds != nullptr) *host_nanoseconds = c10::getTime();
    *event = std::make_shared<Picoseconds>(simulated_time(current));
  }
  /// Microseconds of simulated time.
  float elapsed(const ProfilerVoidEventStub* first,
                const ProfilerVoidEventStub* second) const override {
    const auto& start = *static_cast<const Picoseconds*>(first->get());
    const auto& end = *static_cast<const Picoseconds*>(second->get());
    return static_cast<float>((end - start).microseconds());
  }
  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> action) const override {
    const c10::DeviceGuard restore(
        c10::Device(kDeviceType, static_cast<c10::DeviceIndex>(current_device())));
    for (int device = 0; device < visible_devices(); ++device) {
      set_device(device);
      action(device);
    }
  }
  void synchronize() const override { neuron_sim::synchronize(current_device()); }
};

struct ProfilerRegistration {
  ProfilerRegistration() {
    torch::profiler::impl::registerPrivateUse1Methods(new DeviceProfilerStubs);
  }
};
const ProfilerRegistration profiler_registration;

}  // namespace
}  // namespace neuron_sim
