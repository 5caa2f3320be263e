#pragma once
// Who hears of the profiles of torch.profiler besides the trace.

#include <functional>
#include <string>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Called when a profile of the devices starts (true) or has stopped (false), with the
/// `custom_profiler_config` that it was given.
using ProfileObserver = std::function<void(const std::string& configuration, bool started)>;

/// Replaces the observer; empty: none.
NEURON_SIM_TORCH_API void set_profile_observer(ProfileObserver observer);
/// Tells the observer.
void tell_profile_observer(const std::string& configuration, bool started);

}  // namespace neuron_sim
