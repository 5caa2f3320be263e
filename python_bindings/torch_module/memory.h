#pragma once
// Snapshots and history of the devices' memory.

#include <torch/csrc/utils/pybind.h>

namespace neuron_sim {

/// Adds record_memory_history and memory_snapshot to module neuron_sim._C.
void bind_memory(pybind11::module_& m);

}  // namespace neuron_sim
