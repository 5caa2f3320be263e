#pragma once
// Captured graphs, for torch.compile.

#include <torch/csrc/utils/pybind.h>

namespace neuron_sim {

void bind_graphs(pybind11::module_& m);

}  // namespace neuron_sim
