#pragma once
// The parts of the module _core; each adds its classes and functions to the module.

#include <nanobind/nanobind.h>

#include "device/arch/architecture.h"

namespace neuron_sim {

/// Affine (an address in loop variables) and View (an access pattern).
void bind_views(nanobind::module_& module);
/// Builder: tensors, tiles, loops and instructions.
void bind_builder(nanobind::module_& module);
/// Program: what a Builder finishes; its time, steps, listing and bytes.
void bind_program(nanobind::module_& module);
/// compile_program and published_stacks: the compiler between kernel and chip.
void bind_passes(nanobind::module_& module);
/// What a kernel in Python handles while it is traced; neuron_sim.nki.tracing derives from it.
void bind_traced_objects(nanobind::module_& module);

/// Every value of an architecture: key -> {value, unit, source, certainty[, standard_error]}.
nanobind::dict facts_of(const Architecture& architecture);

}  // namespace neuron_sim
