#pragma once
// The name of the operator that runs on a thread: less than launch_origin.h tells, at less cost.

namespace neuron_sim {

/// Names the operators of all threads from now on, or no longer: then they cost nothing.
void name_running_operators(bool wanted);

/// The innermost operator that this thread runs ("aten::addmm"); null without one, or when it
/// began before operators were named. Stays valid.
const char* running_operator();

}  // namespace neuron_sim
