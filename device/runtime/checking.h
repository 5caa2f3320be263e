#pragma once
// The process-wide switch that checks every launch.

#include <memory>
#include <span>
#include <vector>

#include "device/check/finding.h"
#include "device/execute/executor.h"
#include "device/runtime/kernel.h"

namespace neuron_sim {

/// Whether launches are checked from now on.
void set_checking(bool wanted);
bool checking();

/// execute() under the checker of `program`, which is the kernel's with the numbers of this launch;
/// findings are kept for take_findings(), those without data once per kernel until they are
/// taken.
ControlLog checked_launch(const std::shared_ptr<const Kernel>& kernel, const Program& program,
                          std::span<CoreMemory* const> memories,
                          std::span<std::byte* const> arguments, ThreadPool& pool);

/// The findings of the launches since the last call.
std::vector<Finding> take_findings();

}  // namespace neuron_sim
