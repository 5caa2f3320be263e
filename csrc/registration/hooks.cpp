// The hooks that PyTorch's core calls in a PrivateUse1 backend.

#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "csrc/launch/storage.h"
#include "csrc/runtime/errors.h"
#include "csrc/runtime/generator.h"
#include "csrc/runtime/host_allocator.h"
#include "csrc/runtime/runtime.h"
#include "csrc/runtime/semantics.h"
#include "device/runtime/devices.h"

namespace neuron_sim {
namespace {

using c10::DeviceIndex;

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return deviceCount() > 0; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }

  DeviceIndex deviceCount() const override {
    try {
      return static_cast<DeviceIndex>(visible_devices());
    } catch (const c10::Error&) {
      return 0;
    }
  }
  void setCurrentDevice(DeviceIndex device) const override { set_device(device); }
  DeviceIndex getCurrentDevice() const override {
    return static_cast<DeviceIndex>(current_device());
  }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    return static_cast<DeviceIndex>(exchange_device(device));
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    const bool exists = device >= 0 && device < deviceCount();
    return exists ? exchangeDevice(device) : getCurrentDevice();
  }

  bool isPinnedPtr(const void* pointer) const override { return is_pinned(pointer); }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return at::getHostAllocator(kDeviceType);
  }
  at::Device getDeviceFromPtr(void* pointer) const override {
    const int index = translate_errors([&] { return hbm().device_of(pointer); });
    return {kDeviceType, static_cast<DeviceIndex>(index)};
  }
  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(DeviceIndex device) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(!vendor_semantics(), "torch.Generator(device=\"", kDeviceType,
                                "\"): TorchNeuron has no such generators; its operators draw from "
                                "torch.Generator(), the CPU's");
    return new_generator(device);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

struct HooksRegistration {
  HooksRegistration() { at::RegisterPrivateUse1HooksInterface(new Hooks); }
};
const HooksRegistration hooks_registration;

}  // namespace
}  // namespace neuron_sim
