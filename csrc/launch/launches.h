#pragma once
// Records of kernel launches: what ran and how long.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "csrc/launch/launch_origin.h"
#include "csrc/runtime/export.h"
#include "csrc/tally/launch_tally.h"
#include "device/runtime/launch.h"
#include "device/timeline/overlaps.h"

namespace neuron_sim {

/// Identifies a recording.
using RecordingId = int64_t;

/// A kernel as a recording keeps it, one for all of its launches.
struct RecordedKernel {
  std::string name;  ///< for example "matmul"
  /// Those of its program, "a [128, 64] float32, b [64, 32] float32 -> out [128, 32] float32", in
  /// the shapes the kernel was compiled for (vector_add merges dimensions).
  std::string arguments;
  OverlapReport overlaps;
  const Architecture* architecture = nullptr;
  /// Absent in a long recording, which keeps only the programs of its last kernels.
  std::shared_ptr<const Kernel> kernel;
};

/// One launch of a recording.
struct RecordedLaunch {
  std::shared_ptr<const RecordedKernel> kernel;
  std::shared_ptr<const Timing> timing;
  int device = 0;
  Schedule::StreamId stream = Schedule::kDefaultStream;
  TimeSpan span{};  ///< on the device's schedule
  LaunchOrigin origin;
  int64_t allocated_bytes = 0;  ///< of the device's HBM, by tensors, when it ran

  /// The tensors of its operator; without one, the arguments of its program.
  std::string shapes() const;
};

/// Distinct kernels whose programs a recording keeps; a training step may compile a hundred new
/// ones.
inline constexpr size_t kKeptPrograms = 1024;

/// From now on keeps every launch of this process (all devices and threads) until the recording is
/// finished. Several may be active.
NEURON_SIM_TORCH_API RecordingId start_recording();
/// Ends a recording and returns its launches in order; empty if there is no such recording.
NEURON_SIM_TORCH_API std::vector<RecordedLaunch> finish_recording(RecordingId recording);

/// From now on sums the launches of this process (all devices and threads); read_tally() tells the
/// sums. `keeps_programs`: for views of the programs; else only their number is kept. Several
/// tallies may be active.
NEURON_SIM_TORCH_API TallyId start_tally(bool keeps_programs);
/// Ends a tally and returns its sums; empty ones if there is no such tally.
NEURON_SIM_TORCH_API LaunchTally finish_tally(TallyId tally);

using LaunchObserver = std::function<void(const LaunchRecord&)>;
/// Calls `observer` after every launch, besides the recordings, until replaced; empty: no observer.
void set_launch_observer(LaunchObserver observer);

/// c10::Error when the recording does not keep the launch's program any more.
NEURON_SIM_TORCH_API void check_kept(const RecordedLaunch& launch);

}  // namespace neuron_sim
