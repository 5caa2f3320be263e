#pragma once
// The checks of a Program that need no data.

#include <optional>
#include <vector>

#include "device/check/finding.h"
#include "device/check/iterations.h"
#include "device/program/program.h"

namespace neuron_sim {

struct CheckOptions {
  /// So many of the first arguments hold data when the kernel starts; the others are its outputs:
  /// undefined until they are written, complete at the end. Without it every argument holds data.
  std::optional<size_t> inputs;
  /// Loops whose iterations, and grids whose instances, the kernel says are independent.
  std::vector<IterationMark> iterations;
  /// Only what is wrong at every run, cheaply: PSUM banks and their sums, dependencies of parallel
  /// iterations, races of instances, outputs that nothing writes at all.
  bool errors_only = false;
};

/// All that can be found without data, in program order, each place once. A read is undefined when
/// bytes that nothing wrote decide about an output, an address or a decision: element-wise
/// instructions, copies, sums and products pass undefined elements on. What depends on data (loops
/// on registers, which are taken to run once, addresses in registers, indirect rows) is left to
/// CheckedRun.
std::vector<Finding> findings(const Program& program, const CheckOptions& options = {});

}  // namespace neuron_sim
