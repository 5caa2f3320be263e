#pragma once
// What the program that submits tasks does in simulated time (HostClock), for `--clock simulated`.

#include "device/runtime/schedule.h"

namespace neuron_sim {

/// The clock of this process's program, which all its devices share. Lives until the process ends.
HostClock& host_clock();

/// The program works for `duration` >= 0: tasks that it submits later start later.
void spend_host_time(Picoseconds duration);

/// From now on the program spends `cost` >= 0 before each task that it submits (kernels, copies).
/// At first 0: submission takes no time.
void set_submission_cost(Picoseconds cost);
Picoseconds submission_cost();

}  // namespace neuron_sim
