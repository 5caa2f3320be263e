#pragma once
// Records of kernel launches, for programs that want to know what ran and how long.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "csrc/export.h"
#include "device/runtime/launch.h"

namespace neuron_sim {

/// Identifies a recording.
using RecordingId = int64_t;

/// From now on keeps every launch of this process (all devices and threads) until the recording is
/// finished. Several may be active.
NEURON_SIM_TORCH_API RecordingId start_recording();
/// Ends a recording and returns its launches in order; none when there is no such recording.
NEURON_SIM_TORCH_API std::vector<LaunchRecord> finish_recording(RecordingId recording);

using LaunchObserver = std::function<void(const LaunchRecord&)>;
/// Calls `observer` after every launch, beside the recordings, until it is replaced; empty: nobody.
void set_launch_observer(LaunchObserver observer);

/// Tensor arguments of a launch, "a [128, 64] float32, b [64, 32] float32 -> out [128, 32]
/// float32", in the shapes the kernel was compiled for (vector_add merges dimensions).
NEURON_SIM_TORCH_API std::string shapes_text(const LaunchRecord& launch);

/// Writes the launch as a Chrome trace by simulating it once more; time 0 is its start. Kernels
/// whose control depends on data get their upper bound.
NEURON_SIM_TORCH_API void write_trace(std::ostream& out, const LaunchRecord& launch);

}  // namespace neuron_sim
