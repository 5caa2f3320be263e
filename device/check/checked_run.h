#pragma once
// Runs a program on data and says what is wrong with it.

#include <span>
#include <vector>

#include "device/check/findings.h"
#include "device/execute/executor.h"

namespace neuron_sim {

/// What a checked run looks for beyond defects.
struct RunNotes {
  bool first_non_finite = false;  ///< the first instance that makes NaN or infinity
  bool precision = false;         ///< the error of every low-precision tile against fp32
};

/// What execute() runs on.
struct RunStorage {
  std::span<CoreMemory* const> memories;
  std::span<std::byte* const> arguments;
};

/// execute(), with the same bytes and errors; appends what the program does wrong to `found`, also
/// when it ends with an error. Programs that depend on data are followed instance by instance:
/// exactly those bytes count that the run touches. For others this is findings().
ControlLog checked_run(const Program& program, const ExecutionPlan& plan, const RunStorage& storage,
                       ThreadPool& pool, const CheckOptions& options, const RunNotes& notes,
                       std::vector<Finding>& found);

}  // namespace neuron_sim
