#include "csrc/runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GeneratorImpl.h>

#include <atomic>
#include <string>
#include <vector>

#include "csrc/runtime/runtime.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

/// Holds a CPU generator as its twin: random operators run on the host with the twin, so a seed
/// gives the same numbers as on the CPU.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(c10::DeviceIndex index, at::Generator twin)
      : c10::GeneratorImpl({kDeviceType, index},
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        twin_(std::move(twin)) {}

  void set_current_seed(uint64_t seed) override { twin_.set_current_seed(seed); }
  uint64_t current_seed() const override { return twin_.current_seed(); }
  uint64_t seed() override { return twin_.seed(); }
  /// The whole state is in get_state(); PyTorch pickles generators of devices with an offset.
  void set_offset(uint64_t offset) override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        offset == 0, "neuron_sim: its generator is a Mersenne twister, which has no offset");
  }
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override {
    twin_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return twin_.unsafeGetGeneratorImpl()->get_state();
  }
  static c10::DeviceType device_type() { return kDeviceType; }
  const at::Generator& twin() const { return twin_; }

 private:
  DeviceGenerator* clone_impl() const override {
    return new DeviceGenerator(device_.index(), twin_.clone());
  }

  at::Generator twin_;
};

RandomSource source_of_environment() {
  const std::string source = setting("NEURON_SIM_RANDOM_SOURCE");
  return source.empty() ? RandomSource::kHost : parse_random_source(source);
}

/// Process-wide, not per thread: backward passes run on threads of PyTorch's.
std::atomic<RandomSource>& current_source() {
  static std::atomic<RandomSource> source{source_of_environment()};
  return source;
}

}  // namespace

RandomSource parse_random_source(std::string_view name) {
  if (name == "host") return RandomSource::kHost;
  if (name == "chip") return RandomSource::kChip;
  TORCH_CHECK_VALUE(false, "neuron_sim: the source of random numbers '", name,
                    "' is neither 'host' nor 'chip'");
}

RandomSource random_source() { return current_source(); }

void set_random_source(RandomSource source) { current_source() = source; }

at::Generator new_generator(int index) {
  return at::make_generator<DeviceGenerator>(
      static_cast<c10::DeviceIndex>(checked_device(index)),
      at::detail::createCPUGenerator(c10::default_rng_seed_val));
}

const at::Generator& default_generator(int index) {
  static auto* const generators = [] {
    auto* made = new std::vector<at::Generator>;
    for (int device = 0; device < visible_devices(); ++device) {
      made->push_back(new_generator(device));
    }
    return made;
  }();
  return (*generators)[static_cast<size_t>(checked_device(index))];
}

at::Generator generator_or_default(const std::optional<at::Generator>& given, int index) {
  if (!given || !given->defined()) return default_generator(index);
  TORCH_CHECK(given->device().type() == kDeviceType, "Expected a '", kDeviceType,
              "' device type for generator but found '", given->device().type(), "'");
  return *given;
}

at::Generator host_twin(const at::Generator& device_generator) {
  return static_cast<DeviceGenerator*>(device_generator.unsafeGetGeneratorImpl())->twin();
}

}  // namespace neuron_sim
