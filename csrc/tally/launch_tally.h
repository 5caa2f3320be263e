#pragma once
// Sums over launches: what ran most and what bounds it, without a record of every launch.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "csrc/runtime/export.h"
#include "device/runtime/launch.h"

namespace neuron_sim {

/// Identifies a tally.
using TallyId = int64_t;

/// Launches of one operator, or of one program.
struct LaunchSum {
  int64_t launches = 0;
  Picoseconds latency{};  ///< with the launch overhead, as in the vendor's benchmark

  LaunchSum operator+(const LaunchSum& other) const {
    return {launches + other.launches, latency + other.latency};
  }
};

/// A program that was launched, in a tally that keeps programs.
struct TalliedProgram {
  std::shared_ptr<const Kernel> kernel;
  std::string op;      ///< "" without one
  int64_t number = 0;  ///< of the program's first launch among those of new programs
  LaunchSum sum;
};

/// Programs that a tally keeps; later ones are summed by operator only.
inline constexpr int64_t kTalliedPrograms = 1024;

/// The sums of a tally so far.
struct LaunchTally {
  LaunchSum all;
  Picoseconds body{};    ///< of all launches: their latency without the launch overhead
  int64_t programs = 0;  ///< distinct ones
  /// By the operator that launched a program first ("aten::addmm"), or by the program's kernel
  /// where no operator did.
  std::map<std::string, LaunchSum> operators;
  /// Latencies by Timing::bottleneck().
  std::map<std::string, Picoseconds> bounds;
  /// In the order of their first launch.
  std::vector<TalliedProgram> kept;
};

/// Adds a tally, of the launches from now on; launches.h has the call for programs.
TallyId add_tally(bool keeps_programs);
/// The sums so far; of an id that there is not, empty ones.
NEURON_SIM_TORCH_API LaunchTally read_tally(TallyId tally);
void remove_tally(TallyId tally);

/// Whether there is a tally.
bool tallies_launches();
/// Names the operators of launches from now on, while there is a tally: called where tensors are
/// made, so that programs that use no device do not pay for it.
void prepare_tallies();
/// Adds a launch to all tallies.
void tally_launch(const LaunchRecord& launch);

}  // namespace neuron_sim
