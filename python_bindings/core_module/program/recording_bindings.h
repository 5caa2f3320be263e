#pragma once
// Recordings of a Program for Python: columns of numbers and what they refer to.

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// A recording as a dict. "columns": bytes by name, little endian: times are float64 picoseconds
/// since the start of the body, indices uint32 with 0xFFFFFFFF for none. "names": what the indices
/// mean: instructions, tiles, tracks, engines, slots. "phases", "timing", "path" and "counters":
/// see launch_phases.h, Program.time(), critical_path.h and counters.h.
nanobind::dict recording_dict(const Program& program,
                              const std::optional<std::string>& architecture,
                              const std::vector<int64_t>& log);

/// shares_by_source() of a run: dicts with `source`, `path_us` (by what is spent), `instructions`,
/// `dma_bytes`, `hbm_bytes` and `multiply_accumulates`.
nanobind::list source_share_list(const Program& program, const std::vector<int64_t>& log);

/// write_perfetto() of a run.
nanobind::bytes perfetto_bytes(const Program& program, const std::vector<int64_t>& log);

}  // namespace neuron_sim
