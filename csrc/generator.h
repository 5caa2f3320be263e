#pragma once
// Random numbers of the device.

#include <ATen/core/Generator.h>

namespace neuron_sim {

/// The default generator of device `index` (the current device when negative).
const at::Generator& default_generator(int index);
/// A new generator of that device, seeded with PyTorch's default seed.
at::Generator new_generator(int index);
/// The CPU generator that produces the numbers of a device generator.
at::Generator host_twin(const at::Generator& device_generator);

}  // namespace neuron_sim
