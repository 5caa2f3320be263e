#pragma once
// Launch records, the kernel cache and the host threads for Python.

#include <torch/csrc/utils/pybind.h>

namespace neuron_sim {

/// Adds them to module neuron_sim._C.
void bind_launches(pybind11::module_& m);

}  // namespace neuron_sim
