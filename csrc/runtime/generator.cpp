#include "csrc/runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GeneratorImpl.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "csrc/runtime/runtime.h"
#include "csrc/runtime/semantics.h"
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

/// A device generator as TorchNeuron has it: a seed and an offset that no operator draws from, with
/// CUDA's state of 16 bytes, which DTensor reads.
class SeedGenerator final : public c10::GeneratorImpl {
 public:
  explicit SeedGenerator(c10::DeviceIndex index)
      : c10::GeneratorImpl({kDeviceType, index},
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

  void set_current_seed(uint64_t seed) override { state_ = {seed, 0}; }
  uint64_t current_seed() const override { return state_[0]; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom(true));
    return current_seed();
  }
  void set_offset(uint64_t offset) override { state_[1] = offset; }
  uint64_t get_offset() const override { return state_[1]; }
  void set_state(const c10::TensorImpl& state) override {
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == sizeof(state_), "RNG state has ", state.numel(),
                " bytes, expected ", sizeof(state_));
    std::memcpy(state_.data(), state.data(), sizeof(state_));
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    const at::Tensor bytes = at::detail::empty_cpu({sizeof(state_)}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr(), state_.data(), sizeof(state_));
    return bytes.getIntrusivePtr();
  }
  static c10::DeviceType device_type() { return kDeviceType; }

 private:
  SeedGenerator* clone_impl() const override { return new SeedGenerator(*this); }
  SeedGenerator(const SeedGenerator& other)
      : c10::GeneratorImpl(other.device(), other.key_set()), state_(other.state_) {}

  std::array<uint64_t, 2> state_ = {c10::default_rng_seed_val, 0};
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
  const auto device = static_cast<c10::DeviceIndex>(checked_device(index));
  if (vendor_semantics()) return at::make_generator<SeedGenerator>(device);
  return at::make_generator<DeviceGenerator>(
      device, at::detail::createCPUGenerator(c10::default_rng_seed_val));
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
  const bool of_host = vendor_semantics();
  if (!given || !given->defined()) {
    return of_host ? at::detail::getDefaultCPUGenerator() : default_generator(index);
  }
  const c10::DeviceType expected = of_host ? c10::kCPU : kDeviceType;
  TORCH_CHECK(given->device().type() == expected, "Expected a '", expected,
              "' device type for generator but found '", given->device().type(), "'");
  return *given;
}

at::Generator host_twin(const at::Generator& generator) {
  if (generator.device().is_cpu()) return generator;
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->twin();
}

}  // namespace neuron_sim
