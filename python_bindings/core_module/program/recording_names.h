#pragma once
// What the indices of a recording mean, for Python.

#include <nanobind/nanobind.h>

#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Instructions of a program, those that read alike as one; `kinds` gets which one each is.
/// Entries: name, engine, core, source, operands (name, text, reads, writes; of absent ones the
/// name), and what they ask of their unit: unit, partitions, elements per partition, transpose,
/// contiguous_bytes of a DMA.
nanobind::list instruction_list(const Program& program, std::vector<uint32_t>& kinds);
/// Tiles and tensors: label, memory, dtype, core, start_partition, partitions, address, bytes.
nanobind::list tile_list(const Program& program);

}  // namespace neuron_sim
