#pragma once
// The process-wide switch that times launches without running them.

namespace neuron_sim {

/// Whether launches from now on take their time but compute no bytes: control that depends on data
/// takes its upper bounds, and written memory keeps its contents.
void set_timing_only(bool wanted);
bool timing_only();

}  // namespace neuron_sim
