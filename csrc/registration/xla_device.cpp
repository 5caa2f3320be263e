#include "csrc/registration/xla_device.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include "csrc/runtime/runtime.h"

namespace neuron_sim {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

/// PyTorch initializes a device when Python names it, but not for "xla".
std::function<void()>& initialize_device() {
  static auto* const function = new std::function<void()>;
  return *function;
}

Device on_this_device(Device device) { return Device(kDeviceType, device.index()); }

/// PyTorch asks it which device "xla" without an index is: this one's current device.
class XlaGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::XLA; }
  Device exchangeDevice(Device device) const override {
    return guard_.exchangeDevice(on_this_device(device));
  }
  Device getDevice() const override {
    initialize_device()();
    return guard_.getDevice();
  }
  void setDevice(Device device) const override { guard_.setDevice(on_this_device(device)); }
  void uncheckedSetDevice(Device device) const noexcept override {
    guard_.uncheckedSetDevice(on_this_device(device));
  }
  Stream getStream(Device device) const override {
    return guard_.getStream(on_this_device(device));
  }
  Stream exchangeStream(Stream stream) const override { return guard_.exchangeStream(stream); }
  DeviceIndex deviceCount() const noexcept override { return guard_.deviceCount(); }

 private:
  const c10::impl::DeviceGuardImplInterface& guard_ = *c10::impl::getDeviceGuardImpl(kDeviceType);
};

/// No tensor has the dispatch key XLA, so a call with that key names the device in an argument.
void run_on_this_device(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  initialize_device()();
  const auto arguments = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  for (auto value = stack->end() - arguments; value != stack->end(); ++value) {
    if (value->isDevice() && value->toDevice().is_xla()) *value = on_this_device(value->toDevice());
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
}

}  // namespace

void register_xla_device(std::function<void()> before_use) {
  static torch::Library library(torch::Library::IMPL, "_", c10::DispatchKey::XLA, __FILE__,
                                __LINE__);
  static const bool registered = [&] {
    initialize_device() = std::move(before_use);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_this_device>());
    static const c10::impl::DeviceGuardImplRegistrar guard(c10::DeviceType::XLA, new XlaGuard);
    return true;
  }();
  (void)registered;
}

}  // namespace neuron_sim
