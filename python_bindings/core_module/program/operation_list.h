#pragma once
// What a kernel asks of the chip, instruction by instruction, for rules about kernels.

#include <nanobind/nanobind.h>

#include "device/program/program.h"

namespace neuron_sim {

/// Instructions of a program, those that agree in all of this as one: name, engine, names_engine
/// (the kernel chose it), source, attributes by name (operators by their names), and operands by
/// name, those that are present: tile, memory, dtype, partitions, elements (per partition),
/// is_dynamic (a loop of the program, a register or indices in memory decide where it lies).
nanobind::list operation_list(const Program& program);

}  // namespace neuron_sim
