#pragma once
// Work of device operators that the host side of the simulator does with values of tensors: at once
// in an eager operator, and again at every run of a compiled graph. Each piece is an operator of
// the library neuron_sim_host, so that a graph can keep it.

#include <ATen/core/stack.h>

namespace neuron_sim {

/// Runs the operator `name` of neuron_sim_host with `arguments` as a step of the graph that is
/// being captured (GraphCapture::active()); its results.
torch::jit::Stack capture_host_step(const char* name, torch::jit::Stack arguments);

}  // namespace neuron_sim
