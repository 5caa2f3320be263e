#pragma once
// Profiler counts other than times: instructions, operations, bytes per memory.

#include <array>
#include <cstdint>
#include <vector>

#include "device/program/control_log.h"
#include "device/program/program.h"

namespace neuron_sim {

struct Traffic {
  int64_t read = 0, written = 0;  ///< bytes
};

struct DescriptorTraffic {
  int64_t packets = 0, bytes = 0;
};

/// Counts of one run.
struct ProgramCounters {
  Traffic hbm, sbuf, psum;
  /// By who makes the descriptors of a DMA.
  DescriptorTraffic static_dma, hardware_dynamic_dma, software_dynamic_dma;
  int64_t matmul_instructions = 0;
  int64_t multiply_accumulates = 0;            ///< of nc_matmul
  int64_t fp32_multiply_accumulates = 0;       ///< those of them whose operands have 32 bits
  int64_t transpose_multiply_accumulates = 0;  ///< of transposes on the Tensor engine, separately
  int64_t psum_to_sbuf_instructions = 0;       ///< that read PSUM and write SBUF
  int64_t psum_to_sbuf_bytes = 0;              ///< that those read from PSUM
};

/// Counts of one run of the program, loops multiplied out (a loop whose trip count is in a register
/// counts its bound; loops of programs with a log, and ranges, count as timed).
ProgramCounters program_counters(const Program& program, const ControlLog& log = {});
/// Counts of one instance of an instruction of the program.
ProgramCounters instruction_counters(const Program& program, const Instruction& instruction);
/// Multiply-accumulates of one instance, where it computes a product; 0 for transposes on the
/// Tensor engine and for all other instructions.
int64_t product_multiply_accumulates(const Demand& demand);
/// Whether the trip count of a loop is in a register.
bool has_dynamic_loops(const Program& program);

}  // namespace neuron_sim
