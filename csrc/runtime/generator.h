#pragma once
// Random numbers of the device.

#include <ATen/core/Generator.h>

#include <optional>
#include <string_view>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Who draws the numbers of distributions (rand, randn, bernoulli, exponential_, multinomial).
enum class RandomSource {
  kHost,  ///< a Mersenne twister on the host side: the numbers that the CPU gives for that seed
  kChip   ///< the chip's generator, seeded from that twister
};

/// "host" or "chip"; c10::ValueError otherwise.
NEURON_SIM_TORCH_API RandomSource parse_random_source(std::string_view name);
/// The source of this process. At first what NEURON_SIM_RANDOM_SOURCE says, else kHost.
NEURON_SIM_TORCH_API RandomSource random_source();
NEURON_SIM_TORCH_API void set_random_source(RandomSource source);

/// The default generator of device `index` (the current device when negative).
const at::Generator& default_generator(int index);
/// The generator that an operator on device `index` draws from: `given`, or the default one of the
/// device; with vendor_semantics() that of the CPU. c10::Error, as CUDA's, when `given` is of
/// another kind of device.
at::Generator generator_or_default(const std::optional<at::Generator>& given, int index);
/// A new generator of that device, seeded with PyTorch's default seed.
at::Generator new_generator(int index);
/// The CPU generator that produces the numbers of a generator.
at::Generator host_twin(const at::Generator& generator);

}  // namespace neuron_sim
