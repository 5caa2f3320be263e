#pragma once

#include <string>

namespace neuron_sim {

/// The name of the device in this process, which PyTorch takes once, when the library is loaded:
/// the environment variable NEURON_SIM_DEVICE, else "neuron_sim". ValueError for another name than
/// the two that python_bindings/neuron_sim/settings.py documents.
const std::string& device_name();

}  // namespace neuron_sim
