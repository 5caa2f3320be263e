#pragma once
// The torch.distributed backend and the account of its collectives for Python.

#include <torch/csrc/utils/pybind.h>

namespace neuron_sim {

/// Adds them to module neuron_sim._C.
void bind_distributed(pybind11::module_& m);

}  // namespace neuron_sim
