#pragma once
// How a process says that an operator fell back.

#include <string>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Takes the place of TORCH_WARN, which operators that are called by their name (torch.ops) print
/// to stderr past Python's filters of warnings. It may throw.
NEURON_SIM_TORCH_API void set_fallback_warning(void (*warn)(const std::string& text));

}  // namespace neuron_sim
