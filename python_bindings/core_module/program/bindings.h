#pragma once
// Finished programs for Python: their time, bytes, listing and compilation.

#include <nanobind/nanobind.h>

namespace neuron_sim {

/// Program: the result of a Builder; its time, listing and bytes.
void bind_program(nanobind::module_& module);
/// compile_program and published_stacks: the compiler between kernel and chip.
void bind_passes(nanobind::module_& module);

}  // namespace neuron_sim
