#pragma once
// Timeline and counter results of a Program, for Python.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "device/observe/program_counters.h"
#include "device/program/program.h"
#include "device/timeline/timeline.h"

namespace neuron_sim {

/// How to time `program`; KernelError when `architecture` (a name or a file; empty: the program's
/// own) is of another generation.
TimelineOptions timeline_options(const Program& program,
                                 const std::optional<std::string>& architecture = {},
                                 double clock_phase_ns = 0, bool starts_warm = false);
/// "elementwise", "dma", ...
const char* unit_name(Unit unit);
/// body_us, latency_us, profile_us, bottleneck, counts and shares, timed that way; of programs of
/// up to 10,000 instances also dma_active_us, the time with a transfer in flight.
nanobind::dict program_timing(const Program& program,
                              const std::optional<std::string>& architecture = {},
                              double clock_phase_ns = 0, bool starts_warm = false,
                              const std::vector<int64_t>& log = {});
/// program_timing() for the program's own architecture, with the cost of overlapping tiles.
nanobind::dict program_timing_with_overlaps(const Program& program);
/// Counters by name: `hbm_read_bytes`, `static_dma_packets`, `matmul_instructions`, ...
nanobind::dict counters_by_name(const ProgramCounters& counters);

}  // namespace neuron_sim
