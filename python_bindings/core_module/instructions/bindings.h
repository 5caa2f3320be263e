#pragma once
// Access patterns and the Builder with its instructions, for Python.

#include <nanobind/nanobind.h>

namespace neuron_sim {

/// Affine (an address in loop variables) and View (an access pattern).
void bind_views(nanobind::module_& module);
/// Builder: tensors, tiles, loops and instructions.
void bind_builder(nanobind::module_& module);
/// EagerRun: the instructions of a Builder run as they are appended.
void bind_eager_run(nanobind::module_& module);

}  // namespace neuron_sim
