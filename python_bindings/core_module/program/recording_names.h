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
/// For each entry of instruction_list(): what one instance counts (counters_by_name), `queue_type`
/// of a transfer as the vendor's profiler names it, else "", and the dtype of its first input.
nanobind::list instruction_counts(const Program& program);
/// Tiles and tensors: label, memory, dtype, core, start_partition, partitions, address, bytes,
/// is_argument.
nanobind::list tile_list(const Program& program);

}  // namespace neuron_sim
