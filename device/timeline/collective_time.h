#pragma once
// How long a collective takes once all its ranks are there.

#include "device/arch/architecture.h"
#include "device/program/program.h"

namespace neuron_sim {

/// Time from the start of a collective to its results: exchange_time() of what it moves. Rank r is
/// logical core r of a row of chips, cores / cores of the program to a chip. One that follows
/// another takes only its transfer.
Picoseconds collective_time(const Program& program, const Instruction& instruction,
                            const Architecture& architecture);

}  // namespace neuron_sim
