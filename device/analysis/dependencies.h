#pragma once
// Which instructions an instruction waits for, by number instead of by time.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// For every instance of an instruction, in program order, the earlier instances whose completion
/// it waits for, in ascending order: as in the timeline, from the bytes that both touch. The order
/// within one engine is not listed: an engine waits for its own instructions only where one reads
/// what the other wrote, TensorE never. Instances that a listed one already waits for may be
/// omitted. KernelError for two cores, and for loops whose trip count is in a register.
std::vector<std::vector<uint32_t>> dependencies(const Program& program);

}  // namespace neuron_sim
