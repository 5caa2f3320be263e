#pragma once
// What the timeline says about a Program, as Python sees it.

#include <nanobind/nanobind.h>

#include "device/program/program.h"

namespace neuron_sim {

/// body_us, latency_us, profile_us, bottleneck, counts and shares.
nanobind::dict program_timing(const Program& program);
/// The same with what overlapping tiles cost.
nanobind::dict program_timing_with_overlaps(const Program& program);

}  // namespace neuron_sim
