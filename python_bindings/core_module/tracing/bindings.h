#pragma once
// Kernels in Python while they are traced.

#include <nanobind/nanobind.h>

namespace neuron_sim {

/// Loops, index expressions, tensors and results of a trace; neuron_sim.nki.tracing derives its
/// classes from them.
void bind_traced_objects(nanobind::module_& module);

}  // namespace neuron_sim
