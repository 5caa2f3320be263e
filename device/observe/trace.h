#pragma once
// A recording as a Chrome trace: open it in https://ui.perfetto.dev or chrome://tracing.

#include <ostream>

#include "device/observe/recording.h"

namespace neuron_sim {

/// Writes the Trace Event Format JSON object: a complete event per step and per wait, on the tracks
/// of lay_out(), and the phases of the launch; the cores of a program are processes. Times are
/// microseconds, with picosecond digits; time 0 is the start of the launch, moved by `start`.
void write_trace(std::ostream& out, const Recording& recording, Picoseconds start = {});

/// Records the program and writes its trace; returns its timing.
Timing write_trace(std::ostream& out, const Program& program, const ControlLog& log = {});

}  // namespace neuron_sim
