#pragma once
// What a profiler counts besides times: instructions, operations, bytes per memory.

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// Counts of one run of the program, loops multiplied out (a loop whose trip count is in a register
/// counts its bound; loops of programs with a log, and ranges, count as timed):
/// `<memory>_read_bytes` and `<memory>_write_bytes` of hbm, sbuf and psum,
/// `<kind>_packets` and `<kind>_bytes` of static_dma, software_dynamic_dma and hardware_dynamic_dma
/// (who makes the descriptors), matmul_instructions, multiply_accumulates (of nc_matmul),
/// transpose_multiply_accumulates (of transposes on the Tensor engine; not in the former),
/// psum_to_sbuf_instructions and psum_to_sbuf_bytes (read from PSUM by instructions that write
/// SBUF).
nanobind::dict program_counters(const Program& program, const std::vector<int64_t>& log);
/// Whether a loop runs as often as a register says.
bool has_dynamic_loops(const Program& program);

}  // namespace neuron_sim
