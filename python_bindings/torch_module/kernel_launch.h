#pragma once
// Kernels that Python traced, launched on tensors of a device.

#include <torch/csrc/utils/pybind.h>

namespace neuron_sim {

/// Adds launch_kernel to module neuron_sim._C.
void bind_kernel_launch(pybind11::module_& m);

}  // namespace neuron_sim
