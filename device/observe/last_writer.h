#pragma once
// Which instruction wrote a byte of a tensor of the caller.

#include <cstdint>
#include <vector>

#include "device/program/program.h"

namespace neuron_sim {

/// The instruction that wrote byte `byte` of an argument last; none when nothing did. After it come
/// those that may have written it since, in program order: where depends on data, or they add.
std::vector<uint32_t> last_writers(const Program& program, size_t argument, int64_t byte);

}  // namespace neuron_sim
