// Devices, streams and events for PyTorch's generic code (torch.Stream, torch.Event, DeviceGuard,
// torch.accelerator). Events carry simulated time.

#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <array>
#include <atomic>

#include "csrc/runtime/errors.h"
#include "csrc/runtime/runtime.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr size_t kPooledStreams = 32;  // as many as CUDA's pool

struct RecordedEvent {
  Picoseconds time{};
  DeviceIndex device = 0;
  bool timing = false;
};

Device with_index(Device device) {
  return Device(kDeviceType, static_cast<DeviceIndex>(checked_device(device.index())));
}

int64_t new_stream_id(int device) {
  return translate_errors([&] { return schedule(device).create_stream(); });
}

/// The streams of one device's pool, handed out in turn.
int64_t pooled_stream_id(int device) {
  struct Pool {
    std::array<int64_t, kPooledStreams> streams{};
    std::atomic<size_t> next{0};
    explicit Pool(int of_device) {
      for (int64_t& stream : streams) stream = new_stream_id(of_device);
    }
  };
  static auto* const pools = [] {
    auto* made = new std::vector<std::unique_ptr<Pool>>;
    for (int index = 0; index < visible_devices(); ++index) {
      made->push_back(std::make_unique<Pool>(index));
    }
    return made;
  }();
  Pool& pool = *(*pools)[static_cast<size_t>(device)];
  return pool.streams[pool.next++ % kPooledStreams];
}

class GuardImplementation final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDeviceType; }
  Device exchangeDevice(Device device) const override {
    return Device(kDeviceType, static_cast<DeviceIndex>(exchange_device(device.index())));
  }
  Device getDevice() const override {
    return Device(kDeviceType, static_cast<DeviceIndex>(current_device()));
  }
  void setDevice(Device device) const override {
    if (device.has_index()) set_device(device.index());
  }
  void uncheckedSetDevice(Device device) const noexcept override {
    if (device.index() >= 0 && device.index() < deviceCount()) set_device(device.index());
  }
  DeviceIndex deviceCount() const noexcept override {
    try {
      return static_cast<DeviceIndex>(visible_devices());
    } catch (...) {
      return 0;  // an invalid NEURON_SIM_DEVICES: reported by whoever uses a device
    }
  }
  c10::DeviceCapability getDeviceCapability(Device) const override { return {}; }

  Stream getStream(Device device) const override {
    device = with_index(device);
    return Stream(Stream::UNSAFE, device, current_stream(device.index()));
  }
  Stream getDefaultStream(Device device) const override {
    return Stream(Stream::DEFAULT, with_index(device));
  }
  Stream getStreamFromGlobalPool(Device device, bool) const override {
    device = with_index(device);
    return Stream(Stream::UNSAFE, device, pooled_stream_id(device.index()));
  }
  Stream getNewStream(Device device, int) const override {
    device = with_index(device);
    return Stream(Stream::UNSAFE, device, new_stream_id(device.index()));
  }
  Stream exchangeStream(Stream stream) const override {
    return Stream(Stream::UNSAFE, stream.device(),
                  exchange_stream(stream.device_index(), stream.id()));
  }
  /// Everything has been computed when a call returns; only simulated time is outstanding.
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream& stream) const override {
    translate_errors([&] { schedule(stream.device_index()).synchronize(stream.id()); });
  }
  void synchronizeDevice(const DeviceIndex device) const override { synchronize(device); }

  void record(void** event, const Stream& stream, const DeviceIndex device,
              const c10::EventFlag flag) const override;
  void block(void* event, const Stream& stream) const override;
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void* event) const override;
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    delete static_cast<RecordedEvent*>(event);
  }
  double elapsedTime(void* first, void* second, const DeviceIndex device) const override;
};

void GuardImplementation::record(void** event, const Stream& stream, const DeviceIndex device,
                                 const c10::EventFlag flag) const {
  TORCH_CHECK(device == -1 || device == stream.device_index(), "neuron_sim: an event of device ",
              static_cast<int>(device), " cannot be recorded on a stream of device ",
              static_cast<int>(stream.device_index()));
  if (*event == nullptr) *event = new RecordedEvent;
  auto& recorded = *static_cast<RecordedEvent*>(*event);
  recorded.time =
      translate_errors([&] { return schedule(stream.device_index()).record(stream.id()); });
  recorded.device = stream.device_index();
  recorded.timing = flag == c10::EventFlag::BACKEND_DEFAULT;
}

void GuardImplementation::block(void* event, const Stream& stream) const {
  if (event == nullptr) return;  // never recorded: nothing to wait for
  translate_errors([&] {
    schedule(stream.device_index()).block(stream.id(), static_cast<RecordedEvent*>(event)->time);
  });
}

void GuardImplementation::synchronizeEvent(void* event) const {
  if (event == nullptr) return;
  const auto& recorded = *static_cast<RecordedEvent*>(event);
  translate_errors([&] { schedule(recorded.device).host().wait_until(recorded.time); });
}

double GuardImplementation::elapsedTime(void* first, void* second, const DeviceIndex) const {
  TORCH_CHECK(first != nullptr && second != nullptr,
              "neuron_sim: both events must be recorded before the elapsed time is asked for");
  const auto& start = *static_cast<RecordedEvent*>(first);
  const auto& end = *static_cast<RecordedEvent*>(second);
  TORCH_CHECK(start.timing && end.timing,
              "neuron_sim: both events must be created with enable_timing=True");
  return (end.time - start.time).milliseconds();
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, GuardImplementation);

}  // namespace
}  // namespace neuron_sim
