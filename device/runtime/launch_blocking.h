#pragma once
// The process-wide switch that makes launches synchronous.

namespace neuron_sim {

/// Whether the program waits, in simulated time, for every kernel that it launches from now on.
void set_launch_blocking(bool wanted);
bool launch_blocking();

}  // namespace neuron_sim
